"""`torchwhy.watch()` over blocks of this process."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import traceback
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import torchwhy
from torchwhy.errors import UsageError


class Job:
    """A model that was made before the block, and the loop that trains it; row 9 of the data may be zero."""

    def __init__(self, *, breaks: bool = True) -> None:
        torch.manual_seed(0)
        rows = torch.randn(16, 4)
        if breaks:
            rows[9] = 0
        self.model = torch.nn.Linear(4, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.loader = DataLoader(TensorDataset(rows, torch.randn(16, 1)), batch_size=4)

    def train(self) -> int:
        steps = 0
        for x, y in self.loader:
            unit = x / x.norm(dim=1, keepdim=True)
            loss = (self.model(unit) - y).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            steps += 1
        return steps

    @property
    def is_finite(self) -> bool:
        return all(bool(p.isfinite().all()) for p in self.model.parameters())


def test_a_failure_raises_with_the_cause_found_in_place(hooks_of, capsys):
    job, before = Job(), hooks_of()

    with pytest.raises(torchwhy.TrainingBroke) as caught, torchwhy.watch() as why:
        job.train()

    root = why.report.root_cause
    assert (root.detector, root.step, root.certainty) == ("division-by-zero", 2, "replayed")
    assert root.sample.dataset_index == 9
    assert root.location.expression == "x / x.norm(dim=1, keepdim=True)"
    assert caught.value.report is why.report
    assert len(str(caught.value).splitlines()) == 2
    assert "[division-by-zero]" in str(caught.value)
    assert caught.value.__suppress_context__
    assert job.is_finite
    assert hooks_of() == before
    assert "error[division-by-zero]: " in capsys.readouterr().err


def test_the_traceback_ends_at_the_line_that_makes_the_step():
    job = Job()

    with pytest.raises(torchwhy.TrainingBroke) as caught, torchwhy.watch(quiet=True):
        job.train()

    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.name for frame in frames][-1] == "train"
    assert frames[-1].line == "self.optimizer.step()"
    assert {frame.filename for frame in frames} == {__file__}


def test_a_loop_that_catches_every_exception_is_stopped_at_its_next_step():
    job = Job()
    caught, begun = [], []

    def train() -> None:
        for _ in range(30):
            begun.append(True)
            try:
                job.train()
            except Exception as error:
                caught.append(error)

    with (
        pytest.raises(torchwhy.TrainingBroke, match="division-by-zero"),
        torchwhy.watch(quiet=True),
    ):
        train()

    assert len(begun) == 2
    assert [type(error) for error in caught] == [torchwhy.TrainingBroke]
    assert job.is_finite


def test_a_healthy_block_is_silent_and_changes_no_bit(hooks_of, capsys):
    bare, watched, before = Job(breaks=False), Job(breaks=False), hooks_of()
    torch.manual_seed(1)
    bare.train()
    drawn = torch.rand(3)

    torch.manual_seed(1)
    with torchwhy.watch() as why:
        assert watched.train() == 4

    assert why.report.outcome == "healthy"
    assert why.report.steps == 4
    assert not why.report.unseen
    assert torch.equal(drawn, torch.rand(3))
    assert torch.equal(bare.model.weight, watched.model.weight)
    assert hooks_of() == before
    assert capsys.readouterr().err == ""


def test_blocks_follow_each_other():
    for _ in range(2):
        with pytest.raises(torchwhy.TrainingBroke), torchwhy.watch(quiet=True) as why:
            Job().train()

        assert why.report.root_cause.detector == "division-by-zero"
    with torchwhy.watch() as why:
        Job(breaks=False).train()
    assert why.report.outcome == "healthy"


def test_skip_goes_on_without_the_bad_update():
    job = Job()

    with torchwhy.watch(on_failure="skip", quiet=True) as why:
        assert job.train() == 4

    assert job.is_finite
    assert why.report.outcome == "failed"
    assert "torchwhy.watch(closely=True)" in " ".join(why.report.notes)


def test_a_loop_that_ends_with_the_bad_step_breaks_too():
    job = Job(breaks=False)

    @torchwhy.watch(quiet=True)
    def fit() -> None:
        job.train()
        (job.model(torch.zeros(4, 4)) / 0).pow(2).mean().backward()
        job.optimizer.step()

    with pytest.raises(torchwhy.TrainingBroke):
        fit()

    assert job.is_finite


def test_continue_leaves_the_program_alone():
    job = Job()

    with torchwhy.watch(on_failure="continue", quiet=True) as why:
        assert job.train() == 4

    assert not job.is_finite
    assert why.report.outcome == "failed"


def test_closely_explains_a_step_without_repeating_it():
    with torchwhy.watch(on_failure="continue", closely=True, quiet=True) as why:
        Job().train()

    root = why.report.root_cause
    assert (root.detector, root.step) == ("division-by-zero", 2)


def test_an_exception_is_explained_and_goes_on_unchanged(hooks_of, capsys):
    job, before = Job(breaks=False), hooks_of()
    job.train()

    with pytest.raises(RuntimeError, match="mat1 and mat2") as caught, torchwhy.watch() as why:
        job.model(torch.randn(4, 3))

    assert type(caught.value) is RuntimeError
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert not [frame.filename for frame in frames if "torchwhy/replay" in frame.filename]
    assert why.report.root_cause.detector == "linear-size-mismatch"
    assert hooks_of() == before
    assert "linear-size-mismatch" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_hooks_are_off_however_the_block_is_left(hooks_of, kind):
    job, before = Job(breaks=False), hooks_of()

    why = torchwhy.watch()

    @contextmanager
    def left():
        with why:
            job.train()
            yield

    with pytest.raises(kind), left():
        raise kind

    assert hooks_of() == before
    assert why.report.steps == 4


def test_what_the_program_replaces_inside_the_block_stays(monkeypatch):
    job, calls = Job(breaks=False), []
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # put back after the test
    monkeypatch.setattr(torch.Tensor, "backward", torch.Tensor.backward)

    with torchwhy.watch():
        inner = torch.Tensor.backward

        def counted(self, *args, **settings):
            calls.append(self)
            return inner(self, *args, **settings)

        torch.Tensor.backward = counted
        sys.excepthook = hook = print
        steps = job.train()
    after = job.train()

    assert torch.Tensor.backward is counted
    assert sys.excepthook is hook
    assert len(calls) == steps + after


def test_hooks_are_off_when_a_generator_is_closed(hooks_of):
    before = hooks_of()

    def steps():
        with torchwhy.watch():
            yield from range(3)

    running = steps()
    next(running)
    assert hooks_of() != before
    running.close()

    assert hooks_of() == before


def test_an_inner_block_yields_to_the_outer_one():
    outer, inner = torchwhy.watch(quiet=True), torchwhy.watch()

    def nested():
        with outer:
            with inner:
                Job(breaks=False).train()
            assert inner.report is None
            Job().train()

    with pytest.raises(torchwhy.TrainingBroke):
        nested()

    assert inner.report is outer.report
    assert outer.report.root_cause.step == 6


def test_the_same_object_may_be_entered_again_inside():
    why = torchwhy.watch(quiet=True)

    with why:
        with why:
            Job(breaks=False).train()
        assert why.report is None
        Job(breaks=False).train()

    assert why.report.steps == 8


def test_a_block_in_another_thread_yields(hooks_of):
    before = hooks_of()
    reports = []

    def other() -> None:
        with torchwhy.watch() as inner:
            Job(breaks=False).train()
        reports.append(inner)

    with torchwhy.watch() as outer:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    assert reports[0].report is outer.report
    assert hooks_of() == before


def test_a_decorated_function_is_a_block_at_each_call():
    @torchwhy.watch(quiet=True)
    def fit(*, breaks: bool) -> int:
        """Train."""
        return Job(breaks=breaks).train()

    assert fit(breaks=False) == 4
    assert fit.why.report.outcome == "healthy"
    with pytest.raises(torchwhy.TrainingBroke):
        fit(breaks=True)
    assert fit.why.report.outcome == "failed"
    assert fit.__doc__ == "Train."


def test_a_generator_is_not_decorated():
    with pytest.raises(UsageError, match="inside it"):

        @torchwhy.watch()
        def steps():
            yield 1


def test_an_unknown_way_to_fail_is_refused():
    with pytest.raises(UsageError, match="'stop' is not one of"):
        torchwhy.watch(on_failure="stop")


def test_the_exception_travels_between_processes():
    with pytest.raises(torchwhy.TrainingBroke) as caught, torchwhy.watch(quiet=True):
        Job().train()

    copy = pickle.loads(pickle.dumps(caught.value))

    assert str(copy) == str(caught.value)
    assert copy.report.root_cause.detector == "division-by-zero"


def test_a_report_shows_itself_as_text_and_as_html():
    with pytest.raises(torchwhy.TrainingBroke), torchwhy.watch(quiet=True) as why:
        Job().train()

    shown = why.report._repr_mimebundle_()

    assert isinstance(why.report, torchwhy.Report)
    assert shown["text/plain"] == str(why.report)
    assert "division-by-zero" in str(why.report)
    assert "<mark" in shown["text/html"]
    assert "%%torchwhy" not in shown["text/html"]


def test_public_names_are_few_and_torch_waits():
    code = "import sys, torchwhy; dir(torchwhy); print('torch' in sys.modules, *dir(torchwhy))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split()[0] == "False"
    assert {"TrainingBroke", "watch", "load", "Report", "Finding"} <= set(done.stdout.split())
    assert len(done.stdout.split()) < 10


def test_a_block_yields_inside_torchwhy_run(tmp_path):
    (tmp_path / "train.py").write_text(
        "import torchwhy\n"
        "with torchwhy.watch() as why:\n"
        "    import torch\n"
        "    w = torch.nn.Linear(2, 1)\n"
        "    opt = torch.optim.SGD(w.parameters(), lr=0.1)\n"
        "    for _ in range(3):\n"
        "        opt.zero_grad(); w(torch.randn(4, 2)).pow(2).mean().backward(); opt.step()\n"
        "print('report', why.report)\n",
        encoding="utf8",
    )

    command = [sys.executable, "-m", "torchwhy", "run", "train.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert done.stdout == "report None\n"
    assert "nothing found in 3 steps" in done.stderr
    assert len(list((tmp_path / ".torchwhy" / "runs").iterdir())) == 1


def test_every_public_name_has_its_line_in_the_reference():
    page = Path(__file__).parents[2] / "docs" / "reference" / "python.md"

    missing = [name for name in dir(torchwhy) if f"| `{name}` |" not in page.read_text("utf8")]

    assert missing == []
