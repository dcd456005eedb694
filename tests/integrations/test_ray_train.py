"""A real job of Ray Train, where ray is installed: its workers are watched like any ranks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from torchwhy.pipeline import load

PROGRAM = Path(__file__).with_name("ray_program.py")


def test_workers_of_ray_train_are_watched(tmp_path: Path) -> None:
    pytest.importorskip("ray.train")
    shutil.copy(PROGRAM, tmp_path / "train.py")

    with (tmp_path / "output").open("wb") as output:  # Ray's own processes would keep a pipe open.
        ended = subprocess.run(
            [sys.executable, "-m", "torchwhy", "run", "--no-rerun", "train.py"],
            cwd=tmp_path,
            env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"},
            stdout=output,
            stderr=output,
            timeout=300,
            check=False,
        )

    assert ended.returncode == 1
    (run,) = (tmp_path / ".torchwhy" / "runs").iterdir()
    report = load(run)
    assert report.root_cause is not None, (tmp_path / "output").read_text()
    assert (report.root_cause.detector, report.root_cause.rank) == ("division-by-zero", 1)
    assert report.failed_ranks is not None
    assert report.failed_ranks.followed == 1
