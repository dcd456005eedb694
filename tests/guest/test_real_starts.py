"""As a user starts it: `python -m torchwhy run …` in a process of its own, with nothing imported before."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guest.pairs import PROGRAMS
from tests.support.children import clean_environment

TORCHWHY = (sys.executable, "-m", "torchwhy", "run")


def start(
    folder: Path, *command: str, limit_seconds: float = 60, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a new folder, as a person at a terminal would."""
    folder.mkdir()
    return subprocess.run(
        command,
        cwd=folder,
        env={**clean_environment(), **variables},
        capture_output=True,
        text=True,
        timeout=limit_seconds,
        check=False,
    )


def test_healthy_program_prints_what_it_prints_bare_and_one_line_of_ours(tmp_path: Path) -> None:
    program = str(PROGRAMS / "everything.py")

    bare = start(tmp_path / "bare", sys.executable, program)
    watched = start(tmp_path / "watched", *TORCHWHY, program)

    assert bare.returncode == watched.returncode == 0, watched.stderr
    assert watched.stdout == bare.stdout
    assert watched.stderr.startswith(bare.stderr)
    (line,) = watched.stderr[len(bare.stderr) :].splitlines()
    assert line.startswith("torchwhy: ")
    assert witness_of(tmp_path / "watched") == witness_of(tmp_path / "bare")


WRITES_FILES = """
import random
import torch
from data import batch

random.seed(3)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
for step in range(200):
    x = batch(random)
    loss = (model(x) / torch.tensor(1.0 * random.randrange(40))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with open("log.txt", "a") as log:
        print(step, file=log)
"""
DATA = """
import torch

def batch(random):
    return torch.tensor([[random.random() for _ in range(4)] for _ in range(8)])
"""


def test_second_run_writes_no_file_of_the_user_again(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text(DATA)
    (tmp_path / "train.py").write_text(WRITES_FILES)
    ended = subprocess.run(
        (*TORCHWHY, "train.py"),
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert "running the program again" in ended.stderr
    assert "divides by zero" in ended.stderr
    assert "--> train.py:11" in ended.stderr
    steps = [int(line) for line in (tmp_path / "log.txt").read_text().splitlines()]
    assert steps == list(range(len(steps)))
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == [
        ".torchwhy", "data.py", "log.txt", "train.py",
    ]  # fmt: skip


def test_supervisor_reports_after_a_kill(tmp_path: Path) -> None:
    ended = start(tmp_path / "run", *TORCHWHY, str(PROGRAMS / "dying" / "out_of_memory.py"))

    assert ended.returncode == -signal.SIGKILL
    assert "SIGKILL" in ended.stderr
    assert len(list((tmp_path / "run" / ".torchwhy" / "runs").glob("*/report.json"))) == 1


SPAWNS = """
import multiprocessing
import sys
import torch

class Training(multiprocessing.get_context("spawn").Process):
    def run(self):
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        for step in range(3):
            loss = model(torch.randn(8, 4 if step < 2 else 3)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    training = Training()
    training.start()
    training.join()
    sys.exit(training.exitcode)
"""


@pytest.mark.slow
def test_exception_that_ends_a_spawned_process_is_reported(tmp_path: Path) -> None:
    (tmp_path / "spawns.py").write_text(SPAWNS)
    bare = start(tmp_path / "bare", sys.executable, str(tmp_path / "spawns.py"))

    done = start(tmp_path / "watched", *TORCHWHY, str(tmp_path / "spawns.py"))

    assert done.returncode == bare.returncode == 1
    assert bare.stderr in done.stderr
    assert "error[linear-size-mismatch]" in done.stderr


@pytest.mark.slow
def test_torchrun_is_watched_and_reported(tmp_path: Path) -> None:
    launcher = str(Path(sys.executable).with_name("torchrun"))
    command = (
        launcher,
        "--standalone",
        "--nproc_per_node",
        "2",
        str(PROGRAMS / "two_ranks.py"),
        "zeros",
    )

    ended = start(tmp_path / "run", *TORCHWHY, *command, limit_seconds=180)

    assert ended.returncode == 1
    (folder,) = [
        entry for entry in (tmp_path / "run" / ".torchwhy" / "runs").iterdir() if entry.is_dir()
    ]
    assert sorted(path.name for path in folder.glob("rank*.jsonl")) == [
        "rank0.jsonl",
        "rank1.jsonl",
    ]
    assert "two_ranks.py:20" in ended.stderr
    assert "division-by-zero" in ended.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile builds C++ code")
def test_compiled_model_gives_the_same_bits(tmp_path: Path) -> None:
    program = str(PROGRAMS / "inductor.py")

    # Only the watched run starts processes that compile: each of them imports torch.
    alone = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
    bare = start(tmp_path / "bare", sys.executable, program, limit_seconds=240, **alone)
    watched = start(tmp_path / "watched", *TORCHWHY, program, limit_seconds=240)

    assert bare.returncode == watched.returncode == 0, watched.stderr
    assert watched.stdout == bare.stdout
    assert witness_of(tmp_path / "watched") == witness_of(tmp_path / "bare")


def witness_of(folder: Path) -> str:
    return (folder / "witness.json").read_text()
