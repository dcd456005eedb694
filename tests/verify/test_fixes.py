"""Every fix that a detector proposes is applied to the detector's own broken programs, and cures them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.detect.test_documented_programs import PROGRAMS
from tests.support.children import Zygote
from tests.support.run_fixes import Fixed, try_fixes
from tests.support.run_program import AT_A_TIME, Outcome, ProgramText
from torchwhy.detect.base import Detector
from torchwhy.detect.registry import all_detectors

WANTED = 0.7  # of all documented programs; the rest has no local cure: bad data or checkpoints, too little memory
BROKEN = [program for program in PROGRAMS if program.expected is not None]
# Programs for which something is proposed and nothing cures, each with the reason.
NO_LOCAL_CURE: dict[str, str] = {}
# Causes of which every change to the source hides the bad values: `zero_infinity`, skipped batches, clamps.
ONLY_HIDDEN = {"infeasible-ctc", "float-overflow"}


@pytest.fixture(scope="module")
def fixed(request, outcomes) -> dict[str, Fixed]:
    """Try the fixes of all selected programs, two at a time."""
    wanted = [
        item.callspec.params["program"]
        for item in request.session.items
        if item.module is request.module and hasattr(item, "callspec")
    ]
    zygote = Zygote()

    def one(program: ProgramText) -> tuple[str, Fixed]:
        return program.id, try_fixes(outcomes[program.id], zygote=zygote)

    try:
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            return dict(pool.map(one, wanted))
    finally:
        zygote.close()


@pytest.mark.slow
@pytest.mark.parametrize("program", BROKEN, ids=lambda program: program.id)
def test_what_is_proposed_cures(
    program: ProgramText, outcomes: dict[str, Outcome], fixed: dict[str, Fixed]
) -> None:
    result = fixed[program.id]

    if program.id in NO_LOCAL_CURE:
        assert result.cure is None, "it has a cure now: take it off the list"
    elif result.was_proposed:
        # A clamp or a skipped batch only hides bad data; for some causes nothing else is a change to the source.
        assert result.cure is not None or result.is_only_hidden, result.describe()
    else:
        assert not any(fix.trial.summary for fix in result.finding.fixes)


@pytest.mark.slow
def test_most_broken_programs_have_a_proven_cure(fixed: dict[str, Fixed]) -> None:
    if len(fixed) < len(BROKEN):
        pytest.skip("only some of the programs were selected")

    # What several ranks do wrong together is the launch, the sampler or the wrapper: few causes propose an edit there.
    of_ranks = {name for name, one in all_detectors().items() if ".causes.ranks." in one.__module__}
    alone = [fixed[one.id] for one in BROKEN if one.expected and one.expected[0] not in of_ranks]
    cured = sum(result.cure is not None for result in alone)

    assert cured >= WANTED * len(alone)


@pytest.mark.slow
def test_every_detector_that_proposes_a_change_cures_a_program_of_its_own(
    fixed: dict[str, Fixed],
) -> None:
    if len(fixed) < len(BROKEN):
        pytest.skip("only some of the programs were selected")

    proposing = {
        name
        for name, detector in all_detectors().items()
        if detector.propose is not Detector.propose
    }
    cured = {name.rpartition("-broken-")[0] for name, result in fixed.items() if result.cure}

    assert proposing - cured <= ONLY_HIDDEN
