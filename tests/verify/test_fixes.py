"""Every fix that a detector proposes is applied to the detector's own broken programs, and cures them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.detect.test_documented_programs import PROGRAMS
from tests.support.children import shared_zygote
from tests.support.outcomes import locked
from tests.support.run_fixes import Fixed, try_fixes
from tests.support.run_program import Outcome, ProgramText
from torchwhy.detect.base import Detector
from torchwhy.detect.registry import all_detectors

# Of all documented programs; the rest has no local cure: bad data or checkpoints, too little memory, or an intention
# that only the author knows (which tensor is the target, which model is to be evaluated).
WANTED = 0.65
BROKEN = [program for program in PROGRAMS if program.expected is not None]
# Programs for which something is proposed and nothing cures, each with the reason.
NO_LOCAL_CURE: dict[str, str] = {}
# Causes of which every change to the source hides the bad values: `zero_infinity`, skipped batches, clamps.
ONLY_HIDDEN = {"infeasible-ctc", "float-overflow"}


class Cures(dict[str, Fixed]):
    """The trials of the fixes of programs, each made once, by the first test that asks.

    `shared` is a folder of the session, in which workers tell each other what was cured.
    """

    def __init__(self, outcomes: dict[str, Outcome], shared: Path) -> None:
        super().__init__()
        self._outcomes = outcomes
        self._shared = shared
        shared.mkdir(parents=True, exist_ok=True)

    def __missing__(self, name: str) -> Fixed:
        fixed = self[name] = try_fixes(self._outcomes[name], zygote=shared_zygote())
        (self._shared / name).write_text("cured" if fixed.cure is not None else "")
        return fixed

    def is_cured(self, name: str) -> bool:
        """Tell whether some fix cures a program; another worker may know it."""
        with locked(self._shared / f"{name}.lock"):
            known = self._shared / name
            return bool(known.read_text()) if known.exists() else self[name].cure is not None


@pytest.fixture(scope="session")
def cures(
    request: pytest.FixtureRequest,
    outcomes: dict[str, Outcome],
    tmp_path_factory: pytest.TempPathFactory,
) -> Cures:
    """Try the fixes of a program when a test asks for them."""
    base = tmp_path_factory.getbasetemp()
    session = base.parent if hasattr(request.config, "workerinput") else base
    return Cures(outcomes, session / "cures")


@pytest.fixture
def all_cured(request: pytest.FixtureRequest, cures: Cures) -> set[str]:
    """Return the broken programs that some fix cures, if all of them were selected."""
    selected = {
        item.callspec.params["program"].id
        for item in request.session.items
        if item.module is request.module and hasattr(item, "callspec")
    }
    if len(selected) < len(BROKEN):
        pytest.skip("only some of the programs were selected")
    return {program.id for program in BROKEN if cures.is_cured(program.id)}


@pytest.mark.slow
@pytest.mark.parametrize("program", BROKEN, ids=lambda program: program.id)
def test_what_is_proposed_cures(program: ProgramText, cures: Cures) -> None:
    result = cures[program.id]

    if program.id in NO_LOCAL_CURE:
        assert result.cure is None, "it has a cure now: take it off the list"
    elif result.was_proposed:
        # A clamp or a skipped batch only hides bad data; for some causes nothing else is a change to the source.
        assert result.cure is not None or result.is_only_hidden, result.describe()
    else:
        assert not any(fix.trial.summary for fix in result.finding.fixes)


@pytest.mark.slow
def test_most_broken_programs_have_a_proven_cure(all_cured: set[str]) -> None:
    # What several ranks do wrong together is the launch, the sampler or the wrapper: few causes propose an edit there.
    of_ranks = {name for name, one in all_detectors().items() if ".causes.ranks." in one.__module__}
    alone = {one.id for one in BROKEN if one.expected and one.expected[0] not in of_ranks}

    assert len(alone & all_cured) >= WANTED * len(alone)


@pytest.mark.slow
def test_every_detector_that_proposes_a_change_cures_a_program_of_its_own(
    all_cured: set[str],
) -> None:
    proposing = {
        name
        for name, detector in all_detectors().items()
        if detector.propose is not Detector.propose
    }
    cured = {name.rpartition("-broken-")[0] for name in all_cured}

    assert proposing - cured <= ONLY_HIDDEN
