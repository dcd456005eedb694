"""The verdict on a trial: by data, and never better than the data."""

from __future__ import annotations

import math
from dataclasses import replace

from tests.support.findings import said
from torchwhy.finding import Finding, SourceSpan
from torchwhy.verify.run_result import Failure, RunResult, compare, is_convincing

PLACE = SourceSpan("train.py", 7, expression="torch.sqrt(x)")
ROOT = Finding("root-gradient-at-zero", "error", said("the root"), step=40, location=PLACE)
FALLING = tuple(2.0 * 0.99**step for step in range(200))
FLAT = (2.3,) * 200


BROKE = Failure("NaN", 40, is_nan=True)


def control(losses=FALLING[:40], failure=BROKE):
    return RunResult((*losses, math.nan), len(losses), failure, (ROOT,), 1, repeated=True)


def trial(losses, *findings, failure=None, timed_out=False):
    return RunResult(tuple(losses), len(losses), failure, findings, 0, timed_out=timed_out)


def test_a_run_without_failure_whose_loss_falls_is_cured():
    assert compare(control(), trial(FALLING), ROOT) == ("cured", "no finding left")


def test_no_nan_but_no_learning_is_said_to_be_so():
    verdict, reason = compare(control(), trial(FLAT), ROOT)

    assert verdict == "symptom-only"
    assert reason == "no NaN, but the loss stays at 2.3"


def test_learning_much_less_than_before_the_failure_is_no_cure():
    slowly = [2.0 - 0.001 * step for step in range(140)]

    assert compare(control(FALLING[:120]), trial(slowly), ROOT)[0] == "symptom-only"


def test_the_same_failure_is_no_difference():
    verdict, reason = compare(
        control(), trial(FALLING[:40], failure=Failure("NaN", 41, is_nan=True)), ROOT
    )

    assert (verdict, reason) == ("no-difference", "NaN at step 41")


def test_the_same_cause_as_a_warning_is_no_cure():
    left = Finding("root-gradient-at-zero", "warning", said("still there"))

    assert compare(control(), trial(FALLING, left), ROOT)[0] == "no-difference"


def test_a_note_that_is_left_is_named():
    note = Finding("unused-parameters", "note", said("one layer is idle"))

    assert compare(control(), trial(FALLING, note), ROOT) == (
        "cured",
        "the note unused-parameters is left",
    )


def test_a_trial_that_did_not_come_to_the_failing_step_proves_nothing():
    short = trial(FALLING[:20], timed_out=True)

    assert compare(control(), short, ROOT)[0] == "not-run"


def test_losses_that_jump_with_the_data_are_compared_after_the_jump():
    jumped = [
        *(1.0 - 0.01 * step for step in range(40)),
        *(500 * 0.98**step for step in range(100)),
    ]

    assert (
        compare(control([1.0 - 0.01 * step for step in range(40)]), trial(jumped), ROOT)[0]
        == "cured"
    )


def test_a_short_program_is_cured_with_the_remark_that_it_is_short():
    verdict, reason = compare(control(FALLING[:3]), trial(FALLING[:8]), ROOT)

    assert verdict == "cured"
    assert "too few steps" in reason


def test_noise_that_never_fell_is_not_held_against_a_fix():
    noise = [2.0 + 0.1 * math.sin(step * 12.9898) for step in range(200)]

    assert compare(control(noise[:60]), trial(noise), ROOT)[0] == "cured"


def test_a_loop_that_skips_everything_from_the_failure_on_is_no_cure():
    skipped = trial(FALLING[:39])

    verdict, reason = compare(control(), skipped, ROOT)

    assert verdict == "symptom-only"
    assert "no step past it" in reason


def test_a_fix_that_leaves_the_losses_alone_convinces_although_they_do_not_fall():
    broken = RunResult(FLAT, 200, None, (ROOT,), 0)
    mended = trial(FLAT)

    assert compare(broken, mended, ROOT) == (
        "cured",
        "no finding left, the same losses as without it",
    )
    assert is_convincing(broken, mended)


def test_a_trial_in_which_torchwhy_could_not_start_has_not_run():
    unwatched = replace(trial(()), unwatched=True)

    verdict, reason = compare(control(), unwatched, ROOT)

    assert verdict == "not-run"
    assert reason == "torchwhy could not start in the changed program"
