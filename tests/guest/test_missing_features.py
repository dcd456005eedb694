"""Each private feature is taken away in turn: training is what it was, and all that does not need it still works."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.children import Ended, Zygote
from tests.support.run_program import AT_A_TIME, Outcome, ProgramText, marked, run_program
from tests.support.zygote import COLD, LACKS
from torchwhy.observe.torch_features.table import FEATURES
from torchwhy.record.events import RunStarted
from torchwhy.record.run_file import read_traces
from torchwhy.replay.microscope.dispatch_mode import NEEDS as OF_MICROSCOPE

BREAKS = """import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
inputs = torch.rand(24, 4) + 0.1
inputs[17] = 0.0
loader = DataLoader(TensorDataset(inputs, torch.rand(24, 1)), batch_size=4)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    optimizer.zero_grad()
    share = torch.sigmoid(model(x)) * x.sum(1, keepdim=True)
    loss = (y - torch.log(share)).mean()  # <- log-of-nonpositive
    loss.backward()
    optimizer.step()
    print(loss.item(), model[0].weight.sum().item())
"""
GOOD_STEPS = 4

# Trains well, long enough for ordinary steps to be cheap, evaluates, and dies at its last line.
DIES = """import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
inputs = torch.randn(64, 6)
loader = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=8, shuffle=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1))
        self.head = nn.Linear(16, 1)
        self.other = nn.Linear(12, 2)  # <- linear-size-mismatch

    def forward(self, x):
        return self.head(self.body(x))


model = Net()
for p in model.other.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
for epoch in range(5):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        total = sum(nn.functional.mse_loss(model(x), y).item() for x, y in loader)
    print(epoch, loss.item(), total, sum(p.double().sum().item() for p in model.parameters()))
print(model.other(model.body(inputs)))
"""
PROGRAMS = {
    name: ProgramText(name, text, marked(text))
    for name, text in (("breaks", BREAKS), ("dies", DIES))
}

# What the table says is lost, as far as these programs show it.
NO_SAMPLE = {"loader-iterator"}
RUN_AGAIN = {"versions"}
LEFT_OUT = {
    "state-loading": ["load probe"],
    "checkpoint-reading": ["checkpoint probe"],
    "engine": ["loss probe"],
    "optimizer-birth": ["optimizer probe"],
    "loader-iterator": ["batch probe"],
    "shown-warnings": ["array warning probe"],
    "script-builtins": ["read probe"],
    "node-numbers": ["mode probe", "microscope"],
    "dispatch-mode": ["dropout probe", "microscope"],
    "dispatch-stack": ["dropout probe", "microscope"],
    "module-call": ["dropout probe"],
    "current-node": ["microscope"],
    "memory": ["microscope"],
    "operator-schema": ["microscope"],
}
# Of the others only time is lost, or nothing that a program could show.
OF_WATCHING = [name for name, row in FEATURES.items() if row.of_recording and not row.only_time]
Runs = dict[tuple[str, str], Future[Outcome]]


class Lacking:
    """A zygote whose children have a torch that lacks a feature."""

    def __init__(self, zygote: Zygote, feature: str) -> None:
        self._zygote = zygote
        self._environment = {LACKS: feature}

    def run(self, script: Path, **options: Any) -> Ended:
        return self._zygote.run(script, environment=self._environment, **options)


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    started = Zygote(**{COLD: "1"})
    yield started
    started.close()


@pytest.fixture(scope="module")
def runs(request, zygote, tmp_path_factory) -> Iterator[Runs]:
    """Start what the selected tests will ask for, two at a time."""
    folder = tmp_path_factory.mktemp("lacking")

    def one(feature: str, program: str) -> Outcome:
        own = folder / feature / program
        own.mkdir(parents=True)
        return run_program(PROGRAMS[program], zygote=Lacking(zygote, feature), folder=own)

    items = [item for item in request.session.items if item.fspath == request.fspath]
    wanted = [item.callspec.params for item in items if hasattr(item, "callspec")]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        yield {
            (one_of["feature"], one_of["program"]): pool.submit(one, **one_of) for one_of in wanted
        }


@pytest.fixture(scope="module")
def bare(zygote, tmp_path_factory) -> dict[str, tuple[list[str], list[str]]]:
    """Give what each program prints to both streams without torchwhy."""
    printed = {}
    for name, program in PROGRAMS.items():
        folder = tmp_path_factory.mktemp(name)
        (folder / "train.py").write_text(program.text)
        zygote.run(folder / "train.py", directory=folder, output=folder, run_directory=None)
        printed[name] = said(folder, script=folder / "train.py")
    return printed


def said(output: Path, *, script: Path) -> tuple[list[str], list[str]]:
    """Return what a program printed to both streams, whatever folder it was in."""
    out, err = ((output / name).read_text() for name in ("stdout", "stderr"))
    return out.splitlines(), err.replace(str(script), script.name).splitlines()


def printed_by(outcome: Outcome) -> tuple[list[str], list[str]]:
    return said(outcome.run_directory, script=outcome.run_directory.parents[2] / "train.py")


def told(outcome: Outcome, feature: str) -> None:
    """Check that trace and report tell of the missing feature once, and of no probe that failed."""
    (trace,) = read_traces(outcome.run_directory)
    (started,) = trace.of(RunStarted)
    row = FEATURES[feature]
    assert [one.feature for one in started.missing] == ([feature] if row.of_recording else [])
    assert [one.left_out for one in started.missing if one.left_out] == (
        [LEFT_OUT[feature]] if feature in LEFT_OUT else []
    )
    notes = [note for note in outcome.report.all_notes if row.lost in note]
    assert len(notes) == (row.of_recording and not row.only_time)
    assert len(outcome.report.all_notes) == len(notes), outcome.describe()


@pytest.mark.parametrize("program", ["breaks"])
@pytest.mark.parametrize("feature", FEATURES)
def test_a_bad_value_is_found_without_it(feature, program, runs, bare):
    outcome = runs[feature, program].result()

    assert outcome.ended.exit_code == 1, outcome.describe()
    assert printed_by(outcome)[0][:GOOD_STEPS] == bare["breaks"][0][:GOOD_STEPS]
    told(outcome, feature)
    cause = outcome.report.root_cause
    assert cause is not None
    if feature in OF_MICROSCOPE:
        assert cause.detector == "unexplained-nonfinite"
        assert any(FEATURES[feature].lost in evidence.claim for evidence in cause.evidence)
    else:
        assert outcome.as_expected, outcome.describe()
        assert (cause.sample is None) == (feature in NO_SAMPLE)
    assert (outcome.run_directory / "rerun").exists() == (feature in RUN_AGAIN)


@pytest.mark.parametrize("program", ["dies"])
@pytest.mark.parametrize("feature", OF_WATCHING)
def test_training_and_its_end_are_as_without_torchwhy(feature, program, runs, bare):
    outcome = runs[feature, program].result()

    assert printed_by(outcome) == bare["dies"]
    assert outcome.ended.exit_code == 1
    told(outcome, feature)
    named = {finding.detector for finding in outcome.report.findings}
    assert named == {"linear-size-mismatch"} | (
        {"matmul-size-mismatch"} if feature == "module-call" else set()
    )
    assert outcome.as_expected == (feature not in OF_MICROSCOPE), outcome.describe()
