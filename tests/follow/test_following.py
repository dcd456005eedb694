"""Real processes: what `torchwhy run` says between the lines of a running program, and what it leaves alone."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from torchwhy.pipeline import load
from torchwhy.record.run_file import read_run

ROOT = Path(__file__).resolve().parents[2]
MOST_STEPS = 6000
PRETENDED = Path(__file__).with_name("pretended_training.py")
LINE = (
    "`optimizer.step()` ran on gradients left over from step 0 (0 clears since then); "
    "nothing cleared them up to step 16, train.py:41"
)


@dataclass(frozen=True)
class Ended:
    """What a person at the terminal sees of a run."""

    code: int
    out: str
    err: str
    run: Path

    @property
    def live(self) -> list[str]:
        """Return what was told while the program ran."""
        return _live_lines(self.err)


def run(
    folder: Path,
    *words: str,
    steps: int = MOST_STEPS,
    program: str = str(PRETENDED),
    enough: Callable[[list[str]], bool] = lambda _live: False,
) -> Ended:
    """Run `torchwhy run` with looks every fraction of a second; options come before a `--`.

    The program is told to end when its lines so far are enough, so that a busy machine gives the same answer.
    """
    place = words.index("--") if "--" in words else 0
    options, arguments = words[:place], words[place + bool("--" in words) :]
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        running = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.follow.quick_looks",
                "run",
                *options,
                program,
                *arguments,
            ],
            stdout=out,
            stderr=err,
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "STEPS": str(steps),
                "OMP_NUM_THREADS": "1",
            },
        )
        while running.poll() is None:
            time.sleep(0.05)
            live = _live_lines((folder / "err").read_text(encoding="utf8"))
            if live:
                (folder / "told").touch()
            if enough(live):
                (folder / "enough").touch()
    (recorded,) = (folder / ".torchwhy" / "runs").iterdir()
    assert not (recorded / "follow-failure.txt").exists()
    texts = [(folder / name).read_text(encoding="utf8") for name in ("out", "err")]
    return Ended(running.returncode, *texts, recorded)


def _live_lines(text: str) -> list[str]:
    """Return the lines of torchwhy that begin with a step, without its number."""
    lines = [line for line in text.splitlines() if line.startswith("torchwhy: step ")]
    return [line.split(": ", 2)[2] for line in lines if line.count(": ") > 1]


def is_unchanged(out: str) -> bool:
    """Tell whether the program's output has its own lines and nothing else."""
    return out == "".join(f"step {50 * place}\n" for place in range(out.count("\n")))


def test_an_error_is_told_once_between_the_programs_own_lines(tmp_path):
    ended = run(tmp_path, "ranks", enough=lambda live: len(live) > 0)

    assert len(list(ended.run.glob("rank*.jsonl"))) == 2
    assert ended.live == [f"{LINE} [missing-zero-grad]"]
    assert ended.err.index("torchwhy: step") < ended.err.index("torchwhy: training has a problem")
    assert is_unchanged(ended.out)
    assert ended.code == 0


def test_a_healthy_program_is_left_in_silence(tmp_path):
    ended = run(tmp_path, "clears", steps=200)

    assert ended.live == []
    assert is_unchanged(ended.out)
    assert ended.code == 0


def test_what_the_run_shows_to_be_wrong_is_withdrawn(tmp_path):
    ended = run(tmp_path, "learns", enough=lambda live: len(live) > 1)

    told, withdrawn = ended.live
    assert told == f"{LINE} [missing-zero-grad]"
    assert withdrawn.startswith("withdrawn, the run has shown otherwise since: ")
    assert load(ended.run).outcome == "healthy"


def test_stop_ends_the_program_as_an_interrupt_does(tmp_path):
    ended = run(tmp_path, "--on-finding", "stop", "--", "saves")

    assert ended.code == 1
    assert ended.out.endswith("saved\n")
    assert "torchwhy: stopping the program (`--on-finding stop`)\n" in ended.err
    stopped = read_run(ended.run).stopped_step
    assert stopped is not None
    assert load(ended.run).notes == (
        f"torchwhy stopped the program after step {stopped}, as `--on-finding stop` asks.",
    )


def test_stop_reaches_a_program_behind_a_shell(tmp_path):
    script = tmp_path / "train.sh"
    script.write_text(f"{shlex.quote(sys.executable)} {PRETENDED} saves\necho shell ended\n")

    ended = run(tmp_path, "--on-finding", "stop", "--", str(script), program="bash")

    assert ended.code == 1
    assert "saved\n" in ended.out


def test_a_program_that_trains_on_after_the_interrupt_is_terminated(tmp_path):
    ended = run(tmp_path, "--on-finding", "stop", "--", "deaf")

    assert ended.code == 1
    assert read_run(ended.run).signal == 15
    assert "it gets SIGTERM" in ended.err


def test_notify_hands_the_finding_to_a_command(tmp_path):
    keep = "import sys; open('got.json', 'w').write(sys.stdin.read()); print('chatty')"
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(keep)}"

    got = tmp_path / "got.json"
    ended = run(tmp_path, "--quiet", "--notify", command, "--", enough=lambda _live: got.exists())

    facts = json.loads(got.read_text())
    assert (facts["event"], facts["finding"]["detector"]) == ("finding", "missing-zero-grad")
    assert facts["finding"]["location"]["file"] == "train.py"
    assert facts["run"] == str(ended.run)
    assert facts["step"] >= 16
    assert is_unchanged(ended.out)
    assert ended.err == ""


TRAINING = """
import time, torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(32, 4)
for step in range(2000):
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward()
    optimizer.step()
    time.sleep(0.01)
"""


@pytest.mark.slow
def test_a_real_training_is_stopped_at_its_fault(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING, encoding="utf8")

    ended = run(tmp_path, "--on-finding", "stop", "--", program="train.py")

    assert ended.code == 1
    (line,) = ended.live
    assert line.endswith("train.py:10 [missing-zero-grad]")
    assert "KeyboardInterrupt" in ended.err
    root = load(ended.run).root_cause
    assert root is not None
    assert root.detector == "missing-zero-grad"
