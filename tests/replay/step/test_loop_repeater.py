"""A loop without a DataLoader repeats the failing step in place, with the item it has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.run_program import ProgramText, run_programs
from torchwhy.record.events import Replayed
from torchwhy.record.run_file import read_traces
from torchwhy.replay.step.loop_repeater import LoopRepeater

DATA = "import torch\nfrom torch import nn\ntorch.manual_seed(0)\nx = torch.rand(1024, 8) + 0.1\nx[201, 3] = -1.0\n"
MODEL = """net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.5), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
"""
STEP = "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
SLICES = f"for i in range(0, 1024, 32):\n    loss = net(x[i:i+32].log()).pow(2).mean()\n{STEP}"
COUNTER = f"""k = 0
while k < 60:
    k += 1
    scale = 0.0 if k == 30 else 1.0
    loss = (net(torch.randn(16, 8)) / scale).pow(2).mean()
{STEP}"""
GENERATOR = f"""def batches():
    for i in range(0, 1024, 32):
        yield x[i:i+32]
for xb in batches():
    loss = net(xb.log()).pow(2).mean()
{STEP}"""
FUNCTION = """def train_step(xb):
    loss = net(xb.log()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()
def main():
    total = 0.0
    for i in range(0, 1024, 32):
        with torch.autocast("cpu", enabled=False):
            total += train_step(x[i:i+32])
main()
"""
FIRST_PART = """for j, i in enumerate(range(0, 1024, 16)):
    (net(x[i:i+16].log()).pow(2).mean() / 4).backward()
    if (j + 1) % 4 == 0:
        opt.step()
        opt.zero_grad()
"""
LAST_PART = f"""x[201, 3], x[250, 3] = 1.0, -1.0
net = nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
{FIRST_PART}"""
# These go on to the next item, because the body itself asks for it.
NEXT = f"""it = iter(torch.split(x, 32))
for _ in range(32):
    loss = net(next(it).log()).pow(2).mean()
{STEP}"""


def _repetitions(loop: str, directory: Path) -> list[tuple[str, bool | None]]:
    program = ProgramText(id="loop", text=DATA + MODEL + loop)
    outcome = run_programs([program], directory)["loop"]
    root = outcome.report.root_cause
    assert root is not None
    assert root.detector in ("log-of-nonpositive", "division-by-zero")
    (trace,) = read_traces(outcome.run_directory)
    traces = [trace] if trace.rerun is None else [trace, trace.rerun]
    return [(event.how, event.reproduced) for one in traces for event in one.of(Replayed)]


@pytest.mark.parametrize("loop", [SLICES, COUNTER, GENERATOR, FUNCTION, LAST_PART])
def test_the_step_is_repeated_in_place(loop, tmp_path):
    assert _repetitions(loop, tmp_path) == [("in-place", True)]


@pytest.mark.parametrize("loop", [NEXT, FIRST_PART])
def test_a_loop_that_moves_on_is_run_a_second_time(loop, tmp_path):
    assert _repetitions(loop, tmp_path) == [("in-place", False), ("rerun", True)]


BODY = """
def run(numbers, step):
    made = []
    k = 0
    for number in iter(numbers):
        k += 1
        made.append((
            number,
            k,
        ))
        step(made)
        after = k
    return made, k
"""


def _run(directory: Path, step) -> tuple[list[tuple[int, int]], int]:
    path = directory / "body.py"
    path.write_text(BODY)
    names: dict = {}
    exec(compile(BODY, str(path), "exec"), names)
    return names["run"]([10, 20, 30], step)


def test_the_body_runs_again_with_its_item_and_its_counter(tmp_path):
    repeater, given_up = LoopRepeater(), []

    def step(made):
        if len(made) == 2:
            assert repeater.prepare()
            repeater.begin(lambda: None, lambda: given_up.append(True))
        elif len(made) == 3:
            repeater.end()

    assert _run(tmp_path, step) == ([(10, 1), (20, 2), (20, 2), (30, 3)], 3)
    assert sys.gettrace() is None
    assert not given_up


def test_the_repetition_is_given_up_when_the_body_ends_without_a_step(tmp_path):
    repeater, given_up = LoopRepeater(), []

    def step(made):
        if len(made) == 2:
            assert repeater.prepare()
            repeater.begin(lambda: None, lambda: given_up.append(list(made)))

    _run(tmp_path, step)

    assert given_up == [[(10, 1), (20, 2), (20, 2)]]
    assert sys.gettrace() is None


def test_a_program_under_a_debugger_is_left_alone(tmp_path):
    repeater, possible = LoopRepeater(), []

    def step(_):
        before = sys.gettrace()
        sys.settrace(lambda *_: None)
        possible.append(repeater.prepare())
        sys.settrace(before)

    _run(tmp_path, step)

    assert possible == [False] * 3
