"""A diff that was offered for an exception cures it: applied to the documented program, the program runs through."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.run_program import Outcome, ProgramText, documented_programs, run_programs

# Programs whose first fix is a patch, by detector and place in the manual page.
PATCHED = (
    "linear-size-mismatch-broken-0",
    "linear-size-mismatch-broken-1",
    "linear-size-mismatch-broken-3",
    "channel-mismatch-broken-0",
    "channel-mismatch-broken-2",
    "channels-last-image-broken-0",
    "channels-last-image-broken-1",
    "matmul-size-mismatch-broken-0",
    "matmul-size-mismatch-broken-1",
    "broadcast-mismatch-broken-0",
    "target-shape-mismatch-broken-0",
    "target-shape-mismatch-broken-1",
    "target-shape-mismatch-broken-2",
    "missing-batch-dimension-broken-0",
    "dtype-mismatch-broken-0",
    "dtype-mismatch-broken-1",
    "dtype-mismatch-broken-2",
    "dtype-mismatch-broken-3",
    "index-out-of-range-broken-0",
    "label-dtype-broken-0",
    "label-dtype-broken-1",
    "label-out-of-range-broken-0",
)
PROGRAMS = {program.id: program for program in documented_programs() if program.id in PATCHED}

needs_patch = pytest.mark.skipif(
    shutil.which("patch") is None, reason="the program `patch` is missing"
)


def patched(program: ProgramText, outcome: Outcome, folder: Path) -> str:
    """Return the program's text with the first fix of its report applied."""
    cause = outcome.report.root_cause
    assert cause is not None, outcome.describe()
    assert cause.fixes, outcome.describe()
    assert cause.fixes[0].diff, outcome.describe()
    folder.mkdir()
    (folder / "train.py").write_text(program.text)
    subprocess.run(
        ["patch", "-p1", "-s"], input=cause.fixes[0].diff, text=True, cwd=folder, check=True
    )
    return (folder / "train.py").read_text()


@needs_patch
@pytest.mark.slow
def test_offered_patches_cure_the_documented_programs(tmp_path):
    broken = run_programs(list(PROGRAMS.values()), tmp_path / "broken")
    again = [
        ProgramText(name, patched(program, broken[name], tmp_path / name))
        for name, program in PROGRAMS.items()
    ]

    repaired = run_programs(again, tmp_path / "repaired")

    assert sorted(PROGRAMS) == sorted(PATCHED)
    assert {name: one.describe() for name, one in repaired.items() if one.ended.exit_code} == {}
