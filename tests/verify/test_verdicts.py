"""The verdict on a trial: by data, and never better than the data."""

from __future__ import annotations

import math
from dataclasses import replace

from tests.support.findings import said
from torchwhy.finding import Finding, Fix, SourceSpan
from torchwhy.record.events import Step
from torchwhy.record.run_file import Run
from torchwhy.record.trace import Trace
from torchwhy.verify import verdicts
from torchwhy.verify.run_result import Failure, FirstGradients, RunResult, result_of
from torchwhy.verify.verdicts import healthy_change

PLACE = SourceSpan("train.py", 7, expression="torch.sqrt(x)")
ROOT = Finding("root-gradient-at-zero", "error", said("the root"), step=40, location=PLACE)
FALLING = tuple(2.0 * 0.99**step for step in range(200))
FLAT = (2.3,) * 200


BROKE = Failure("NaN", 40, is_nan=True)
RAISED = Failure("RuntimeError", 1, is_exception=True)
CHANGE = Fix("a change", diff="some")


def compare(before, after, finding, fix=CHANGE):
    return verdicts.compare(before, after, finding, fix)


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


def test_a_few_losses_that_fall_each_time_show_a_cure():
    assert compare(control(FALLING[:3]), trial(FALLING[:8]), ROOT)[0] == "cured"


def test_fewer_losses_show_that_it_runs_and_no_more():
    verdict, reason = compare(control(FALLING[:2]), trial(FALLING[:4]), ROOT)

    assert verdict == "runs"
    assert reason == "no finding left, but too few steps to tell whether it learns"


def test_a_loss_that_does_not_fall_is_never_cured():
    noise = [2.0 + 0.1 * math.sin(step * 12.9898) for step in range(200)]

    verdict, reason = compare(control(noise[:60]), trial(noise), ROOT)

    assert verdict == "runs"
    assert reason == "no finding left, but its loss does not fall"


def test_a_clamp_hides_however_well_the_loss_falls():
    verdict, reason = compare(control(), trial(FALLING), ROOT, replace(CHANGE, hides=True))

    assert verdict == "symptom-only"
    assert reason == "no finding left, but what makes the bad value is still there"


def of_two(losses, *, critic, failure=None):
    """Return a run of two optimizers, whose critic first steps with a gradient of this size."""
    gradients = (
        FirstGradients(0, "Adam of train.py:7", {"actor.weight": 0.5}),
        FirstGradients(1, "Adam of train.py:8", {"critic.weight": critic}),
    )
    result = trial(losses, failure=failure)
    return replace(result, gradients=gradients, players=(tuple(losses), tuple(losses)))


def test_a_step_with_the_gradients_of_another_loss_is_no_cure():
    broken = replace(of_two(FALLING[:1], critic=0.20, failure=RAISED), findings=(ROOT,))

    verdict, reason = compare(broken, of_two(FALLING, critic=0.31), ROOT)

    assert verdict == "changes-intent"
    assert "the Adam of train.py:8 steps with other gradients" in reason


def test_a_step_with_the_gradients_of_its_own_loss_is_a_cure():
    broken = replace(of_two(FALLING[:1], critic=0.20, failure=RAISED), findings=(ROOT,))

    assert compare(broken, of_two(FALLING, critic=0.2000001), ROOT)[0] == "cured"


def test_players_whose_losses_do_not_all_fall_run_and_no_more():
    rising = tuple(reversed(FALLING))
    played = replace(trial(FALLING), players=(FALLING, rising))

    verdict, reason = compare(control(FALLING[:1]), played, ROOT)

    assert verdict == "runs"
    assert "the losses of its optimizers do not all fall" in reason


def test_a_warning_that_the_failure_had_hidden_is_no_cure():
    warning = Finding("unscaled-inputs", "warning", said("large inputs"))

    verdict, reason = compare(control(), trial(FALLING, warning), ROOT)

    assert verdict == "runs"
    assert "the warning unscaled-inputs is left" in reason


def test_a_trial_that_the_time_limit_ended_after_the_failure_is_no_cure():
    verdict, reason = compare(control(), trial(FALLING[:90], timed_out=True), ROOT)

    assert verdict == "runs"
    assert "the time limit ended it at step 90" in reason


def test_the_change_of_the_healthy_steps_is_measured():
    moved = [loss + 0.02 * (step == 30) for step, loss in enumerate(FALLING)]

    assert healthy_change(control(), trial(FALLING)) == 0.0
    assert math.isclose(healthy_change(control(), trial(moved)), 0.01)


def test_steps_that_diverge_are_not_healthy():
    diverging = control([2.0 * 1.5**step for step in range(40)])

    assert healthy_change(diverging, trial(FALLING)) is None


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


def test_a_trial_in_which_torchwhy_could_not_start_has_not_run():
    unwatched = replace(trial(()), unwatched=True)

    verdict, reason = compare(control(), unwatched, ROOT)

    assert verdict == "not-run"
    assert reason == "torchwhy could not start in the changed program"


def test_a_few_losses_that_run_away_only_hide_the_failure():
    assert compare(control(FALLING[:2]), trial([1.2, 3.0, 229.0]), ROOT)[0] == "symptom-only"


def test_two_optimizers_that_share_a_loss_are_no_players():
    steps = [
        Step(step=index, optimizer=index % 2, losses=[] if index % 2 else [loss], milliseconds=1.0)
        for index, loss in enumerate(FALLING)
    ]
    trace = Trace([*steps])

    result = result_of([trace], (), Run(("train.py",), "/"))

    assert result.players == ()
    assert result.learns


def test_a_run_that_learnt_more_without_the_change_is_not_cured_by_it():
    broken = RunResult(FALLING, 200, None, (ROOT,), 0)
    slowly = trial([2.0 * 0.999**step for step in range(200)])

    verdict, reason = compare(broken, slowly, ROOT)

    assert verdict == "runs"
    assert reason == "no finding left, but its loss falls less than without it"


def test_a_loss_around_zero_that_rises_runs_and_no_more():
    objective = [0.05 * math.sin(1.7 * step) + 0.0005 * step for step in range(120)]
    raised = control(objective[:1], failure=RAISED)

    verdict, reason = compare(raised, trial(objective), ROOT)

    assert (verdict, reason) == ("runs", "no finding left, but its loss does not fall")


def test_a_loss_around_zero_that_runs_away_only_hides_the_failure():
    objective = [math.sin(1.7 * step) * (1.0 + 0.01 * step) for step in range(60)]
    raised = control(objective[:1], failure=RAISED)

    verdict, _ = compare(raised, trial([*objective, *(8.0 * step for step in range(60))]), ROOT)

    assert verdict == "symptom-only"


def test_parameters_that_lose_their_gradient_are_told():
    sizes = {"enc.weight": 0.5, "dec.weight": 0.3}
    before = replace(
        control(FALLING[:1], failure=RAISED),
        gradients=(FirstGradients(0, "SGD of train.py:6", sizes),),
    )
    after = replace(
        trial(FALLING), gradients=(FirstGradients(0, "SGD of train.py:6", {"dec.weight": 0.3}),)
    )

    verdict, reason = compare(before, after, ROOT)

    assert verdict == "changes-intent"
    assert reason == "no failure, but enc.weight has no gradient any more"
