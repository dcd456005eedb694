"""Cures that were once wrong, judged by hand: what comes of each trial, and which change comes first."""

from __future__ import annotations

import pytest

from tests.support.children import shared_zygote
from tests.support.run_fixes import try_fixes
from tests.support.run_program import Outcome, ProgramText
from tests.test_programs import BROKEN

# The verdict on the best change, and a part of its title; "" where nothing may be proposed.
JUDGED = {
    "inplace-modification/broken/step_between_two_losses": ("runs", "compute actor_loss after"),
    "inplace-modification/broken/advantage_of_an_updated_critic": ("cured", "advantage.detach()"),
    "log-of-nonpositive/broken/density_without_its_support": ("symptom-only", "clamp_min"),
    "undivided-accumulation/broken/passes_not_divided": ("cured", "(loss / accumulate)"),
    "log-of-nonpositive/broken/entropy_of_a_certain_target": ("cured", "torch.xlogy"),
    "log-of-nonpositive/broken/cross_entropy_by_hand": ("cured", "logsigmoid"),
    "domain-error/broken/variance_by_two_means": ("cured", "clamp_min"),
    "linear-size-mismatch/broken/one_wide_batch": ("", ""),
    "index-out-of-range/broken/largest_index_comes_late": ("cured", "70 rows"),
    "reentrant-checkpoint/broken/first_block_checkpointed": ("cured", "use_reentrant=False"),
}
PROGRAMS = [program for program in BROKEN if program.id in JUDGED]


def test_every_judged_program_is_kept():
    assert {program.id for program in PROGRAMS} == set(JUDGED)


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.id)
def test_the_best_change_is_the_right_one(
    program: ProgramText, outcomes: dict[str, Outcome]
) -> None:
    result = try_fixes(outcomes[program.id], zygote=shared_zygote())
    verdict, title = JUDGED[program.id]

    assert result.was_proposed == bool(title)
    if title:
        first = result.finding.fixes[0]
        assert (first.trial.verdict, title in first.title) == (verdict, True), result.describe()
