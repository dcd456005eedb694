"""Whole programs in files: a broken one must give its marked line as root cause, a healthy one nothing."""

from __future__ import annotations

import pytest

from tests.support.run_program import (
    PROGRAMS,
    WHOLE_PROGRAMS,
    Outcome,
    ProgramText,
    documented_programs,
    kept_programs,
)
from torchwhy.detect.registry import all_detectors

BROKEN = kept_programs("broken")
HEALTHY = kept_programs("healthy")
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


def test_broken_programs_lie_in_the_folder_of_the_cause_they_mark() -> None:
    astray = {
        program.id
        for program in BROKEN
        if program.expected and not program.id.startswith(f"{program.expected[0]}/broken/")
    }

    assert astray == set()


def test_every_folder_of_programs_is_named_after_a_cause() -> None:
    folders = {path.name for path in PROGRAMS.iterdir() if path.is_dir()}

    assert folders - {WHOLE_PROGRAMS} <= set(all_detectors())
