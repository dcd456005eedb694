"""A busy machine gives the answers of an idle one: sensitive programs run beside four busy processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.run_program import ProgramText, guest_programs, run_programs
from tests.support.snapshots import differences, render
from tests.test_programs import BROKEN, HEALTHY

BUSY = 4
# Long first steps, experiments on later steps, late optimizers, exceptions that the program catches, reruns.
SENSITIVE = {
    "convolutional_network_at_rate_ten",
    "first_fetch_fails",
    "hand_written_sgd_diverges",
    "large_resnet110",
    "lbfgs",
    "long_play",
    "long_prelude",
    "many_optimizers",
    "phases",
}
PROGRAMS = [
    program
    for program in (*BROKEN, *HEALTHY, *guest_programs())
    if Path(program.id).name in SENSITIVE
]


@pytest.fixture
def busy_machine() -> Iterator[None]:
    command = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(command) for _ in range(BUSY)]
    yield
    for other in others:
        other.kill()
        other.wait()


def _ids(programs: list[ProgramText]) -> set[str]:
    return {Path(program.id).name for program in programs}


@pytest.mark.slow
def test_sensitive_programs_get_their_pinned_answers(busy_machine: None, tmp_path: Path) -> None:
    assert _ids(PROGRAMS) >= SENSITIVE

    outcomes = run_programs(PROGRAMS, tmp_path)

    changed = {}
    for program in PROGRAMS:
        assert program.snapshot is not None
        pinned = program.snapshot.read_text()
        if changes := differences(pinned, render(outcomes[program.id])):
            changed[program.id] = changes
    assert changed == {}
