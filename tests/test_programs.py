"""Whole programs in files: `programs/broken` must give its marked line as root cause, `programs/healthy` nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.run_program import Outcome, ProgramText, documented_programs, programs_in

FOLDER = Path(__file__).parent / "programs"
BROKEN = programs_in(FOLDER / "broken")
HEALTHY = programs_in(FOLDER / "healthy")
MANUAL = documented_programs()


@pytest.mark.parametrize("program", BROKEN, ids=lambda program: program.id)
def test_broken_program_gives_its_marked_line(
    program: ProgramText, outcomes: dict[str, Outcome]
) -> None:
    assert program.expected is not None, "the guilty line must end in `# <- name`"

    outcome = outcomes[program.id]

    assert outcome.as_expected, outcome.describe()


@pytest.mark.parametrize("program", HEALTHY, ids=lambda program: program.id)
def test_healthy_program_is_silent(program: ProgramText, outcomes: dict[str, Outcome]) -> None:
    assert program.expected is None, "a healthy program marks no line"

    outcome = outcomes[program.id]

    assert outcome.as_expected, outcome.describe()
