"""Faults in programs of many styles are diagnosed, and at least four of five get a cure that was run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.run_fixes import Fixed, run_fixes
from tests.support.run_program import ProgramText, programs_in

PROGRAMS = programs_in(Path(__file__).resolve().parents[1] / "programs" / "styles")
WANTED = 0.8  # of all faults with a local cure, which these are


@pytest.fixture(scope="module")
def fixed(request, tmp_path_factory) -> dict[str, Fixed]:
    """Diagnose the selected programs and try their fixes."""
    wanted = [
        item.callspec.params["program"]
        for item in request.session.items
        if item.module is request.module and hasattr(item, "callspec")
    ]
    return run_fixes(wanted or PROGRAMS, tmp_path_factory.mktemp("styles"))


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.id)
def test_the_fault_is_found(program: ProgramText, fixed: dict[str, Fixed]) -> None:
    outcome = fixed[program.id].outcome

    assert outcome.as_expected, outcome.describe()


@pytest.mark.slow
def test_four_of_five_are_cured(fixed: dict[str, Fixed]) -> None:
    if len(fixed) < len(PROGRAMS):
        pytest.skip("only some of the programs were selected")

    uncured = [one.describe() for one in fixed.values() if one.cure is None]

    assert len(uncured) <= (1 - WANTED) * len(fixed), "\n\n".join(uncured)
