"""The detectors of wrong calls: what is cleared, stepped and clipped, in which order."""

from __future__ import annotations

import pytest

from tests.detect.helpers import optimizer
from tests.support.traces import LINE, program, trace
from torchwhy.detect.causes.wiring.clip_after_step import ClipAfterStep
from torchwhy.detect.causes.wiring.missing_optimizer_step import MissingOptimizerStep
from torchwhy.detect.causes.wiring.missing_zero_grad import MissingZeroGrad
from torchwhy.detect.causes.wiring.scheduler_misuse import SchedulerMisuse
from torchwhy.detect.causes.wiring.shared_state_dict_alias import SharedStateDictAlias
from torchwhy.detect.causes.wiring.zero_grad_after_backward import ZeroGradAfterBackward
from torchwhy.finding import SourceSpan
from torchwhy.record.events import ExceptionSeen, ScaleChanged, Step, Weights
from torchwhy.record.learning import (
    CallSeen,
    ManualUpdate,
    ParameterCensus,
    StaleGradients,
    StepCalls,
)
from torchwhy.record.wiring import (
    AliasLoaded,
    CallsCounted,
    IdleOptimizer,
    SchedulerSeen,
)

STEP_CALL = SourceSpan("train.py", 41, function="train_epoch", expression="optimizer.step()")


def stale(times, step, **more):
    return StaleGradients(
        step=step,
        optimizer=more.pop("optimizer", 0),
        used_at_step=step - 1,
        times=times,
        cleared_ever=more.pop("cleared_ever", False),
        location=LINE,
        **more,
    )


def calls(step, *names, **more):
    return StepCalls(
        step=step, calls=[CallSeen(name=name, location=LINE, **more) for name in names]
    )


def step(number, rate=None, index=0):
    rates = None if rate is None else [rate]
    return Step(step=number, optimizer=index, losses=[1.0], milliseconds=1.0, learning_rates=rates)


def gradients(number, *sizes):
    names = [f"p{i}" for i in range(len(sizes))]
    ones = [1.0] * len(sizes)
    return Weights(step=number, optimizer=0, names=names, weight_rms=ones, gradient_rms=list(sizes))


def test_gradients_that_are_never_cleared_are_reported_at_the_step_that_uses_them():
    events = [stale(n, 6 + n, stepped_at=STEP_CALL) for n in (1, 2, 3)]

    (finding,) = MissingZeroGrad().scan(trace(*events))

    assert finding.location == STEP_CALL
    assert finding.step == 7
    assert "left over from step 6 (0 clears since then)" in finding.message
    assert finding.evidence[0].value == 3.0


def test_two_leftovers_are_no_loop():
    assert list(MissingZeroGrad().scan(trace(stale(1, 1), stale(2, 2)))) == []


def test_leftovers_that_are_rare_in_a_loop_that_clears_are_not_reported():
    assert list(MissingZeroGrad().scan(trace(stale(4, 100, cleared_ever=True)))) == []


def test_gradients_cleared_only_once_per_epoch_are_reported():
    (finding,) = MissingZeroGrad().scan(trace(stale(32, 40, cleared_ever=True)))

    assert "only now and then" in finding.message


def test_leftovers_of_an_update_by_hand_are_reported_where_the_weights_are_written():
    written = SourceSpan("train.py", 7, expression="w -= 0.1 * w.grad")
    events = [ManualUpdate(step=1, location=written), stale(4, 4, optimizer=-1)]

    (finding,) = MissingZeroGrad().scan(trace(*events))

    assert finding.location == written


def test_zero_grad_between_backward_and_an_empty_step_is_reported():
    rounds = [
        event
        for n in range(3)
        for event in (
            calls(n, "backward", "zero_grad", "step"),
            step(n),
            gradients(n, 0.0, 0.0),
        )
    ]

    (finding,) = ZeroGradAfterBackward().scan(trace(optimizer(), *rounds))

    assert finding.severity == "error"
    assert finding.location == LINE


@pytest.mark.parametrize(
    ("order", "gradient"),
    [
        (("zero_grad", "backward", "step"), 0.0),  # zero gradients have another reason
        (("backward", "zero_grad", "step"), 0.1),  # somebody else's gradients were cleared
    ],
)
def test_order_and_empty_gradients_are_both_needed(order, gradient):
    rounds = [
        event for n in range(3) for event in (calls(n, *order), step(n), gradients(n, gradient))
    ]

    assert list(ZeroGradAfterBackward().scan(trace(*rounds))) == []


def idle(backwards, **more):
    given = {"gradients": True, "changed": False, "location": LINE, **more}
    return IdleOptimizer(step=0, optimizer=0, backwards=backwards, **given)


def test_optimizer_that_never_steps_is_reported_at_the_backward_call():
    (finding,) = MissingOptimizerStep().scan(trace(optimizer(), idle(3), idle(6)))

    assert finding.location == LINE
    assert "at least 6 times" in finding.message


@pytest.mark.parametrize(
    "events",
    [
        [idle(3), step(0)],
        [idle(3, changed=True)],
        [idle(3, gradients=False)],
        [idle(3, scaled=True)],
        [idle(6), step(0, index=1)],
        [idle(3), ExceptionSeen(step=0, type="ValueError", message="", caught=False)],
    ],
    ids=["it steps later", "updated by hand", "not its loss", "scaler", "its turn comes", "died"],
)
def test_optimizer_that_waits_for_a_reason_is_not_reported(events):
    assert list(MissingOptimizerStep().scan(trace(optimizer(), *events))) == []


def test_clipping_after_the_step_is_reported_once():
    loop = ("clip", "zero_grad", "backward", "step")
    events = [calls(0, "zero_grad", "backward", "step"), *(calls(n, *loop) for n in range(1, 6))]

    (finding,) = ClipAfterStep().scan(trace(*events))

    assert finding.severity == "warning"
    assert finding.step == 0


def test_clipping_whose_norm_is_kept_is_a_note():
    loop = ("clip", "zero_grad", "backward", "step")

    (finding,) = ClipAfterStep().scan(trace(*(calls(n, *loop, used=True) for n in range(4))))

    assert finding.severity == "note"


@pytest.mark.parametrize(
    "order",
    [
        ("zero_grad", "backward", "clip", "step"),
        ("clip", "step"),
        ("clip", "zero_grad", "backward", "clip", "step"),
        ("clip", "backward", "step"),
    ],
)
def test_clipping_that_something_uses_is_not_reported(order):
    assert list(ClipAfterStep().scan(trace(*(calls(n, *order) for n in range(6))))) == []


def scheduler(kind="StepLR", steps=1, **settings):
    return SchedulerSeen(
        index=0,
        kind=kind,
        step=1,
        optimizer=0,
        optimizer_steps=steps,
        settings=settings,
        location=LINE,
    )


def schedule(rates, *events, count=None):
    counted = CallsCounted(step=len(rates), counts={}, schedulers={0: count or len(rates)})
    steps = [step(n, rate) for n, rate in enumerate(rates)]
    return list(SchedulerMisuse().scan(trace(optimizer(), *events, *steps, counted)))


def test_rate_that_dies_early_is_reported_with_the_steps_that_follow():
    rates = [0.1 * 0.05 ** (n // 10) for n in range(100)]

    (finding,) = schedule(rates, scheduler(step_size=10.0, gamma=0.1))

    assert finding.location == LINE
    assert finding.step == 30
    assert "70 of 100 steps ran with at most 1/1000" in finding.message
    assert "once per epoch" in finding.fixes[0].title


def test_training_at_rate_zero_is_reported():
    rates = [0.1 - 0.001 * n for n in range(100)] + [0.0] * 50

    (finding,) = schedule(rates, scheduler("LinearLR"), count=15)

    assert "has been 0 since step 100, but 50 more steps followed" in finding.message


def test_rate_below_zero_is_an_error():
    (finding,) = schedule([0.1 - 0.01 * n for n in range(20)], scheduler("LambdaLR"))

    assert finding.severity == "error"


@pytest.mark.parametrize(
    "rates",
    [
        [0.1 * (1 - n / 100) for n in range(100)] + [0.0],
        [0.01 * n for n in range(10)] + [0.1] * 90,
        [0.1 * 0.1 ** (n // 30) for n in range(100)],
        [0.1, 1e-6] * 50,
    ],
    ids=["linear to zero", "warm-up from zero", "per epoch", "restarts"],
)
def test_schedules_that_fit_the_run_are_silent(rates):
    assert schedule(rates, scheduler()) == []


def test_rates_that_no_scheduler_set_are_not_blamed_on_one():
    assert schedule([0.1] * 5 + [0.0] * 95) == []


def test_cosine_that_goes_up_and_down_is_reported():
    (finding,) = schedule([0.1] * 300, scheduler("CosineAnnealingLR", T_max=10.0))

    assert "up and down 30 times" in finding.message


def test_scheduler_before_the_first_step_is_reported():
    first = calls(0, "zero_grad", "backward", "scheduler", "step")

    (finding,) = schedule([0.1] * 10, scheduler(steps=0), first)

    assert "before the optimizer has made its first step" in finding.message


@pytest.mark.parametrize(
    "events",
    [
        [scheduler("ReduceLROnPlateau", steps=0), calls(0, "scheduler", "step")],
        [scheduler(steps=0), calls(0, "scheduler", "scheduler", "scheduler", "step")],
        [scheduler(steps=0), calls(0, "scheduler", "step"), ScaleChanged(step=0, scale=65536.0)],
    ],
    ids=["by metric", "resumed", "scaler skipped a step"],
)
def test_scheduler_that_comes_first_for_a_reason_is_not_reported(events):
    assert schedule([0.1] * 10, *events) == []


def test_weights_kept_by_reference_are_reported_where_they_were_taken():
    taken = SourceSpan("train.py", 16, expression="model.state_dict")
    event = AliasLoaded(
        step=20, name="best", tensors=4, taken_step=6, location=LINE, taken_at=taken
    )

    (finding,) = SharedStateDictAlias().scan(trace(event))

    assert finding.location == taken
    assert "14 steps" in finding.message


CLEAR = SourceSpan("train.py", 30, expression="optimizer.zero_grad")
BACKWARD = SourceSpan("train.py", 32, expression="loss.backward()")
SEEN = {
    "z": CallSeen(name="zero_grad", location=CLEAR, optimizer=0),
    "b": CallSeen(name="backward", location=BACKWARD),
    "o": CallSeen(name="backward", location=LINE),
    "s": CallSeen(name="step", location=STEP_CALL),
}


def accumulating(orders, *, reads=False):
    events = [optimizer()]
    for number, order in enumerate(orders):
        events += [step(number), StepCalls(step=number, calls=[SEEN[sign] for sign in order])]
    census = ParameterCensus(step=0, optimizer=0, parameters=[], backwards=3)
    text = "norm = model.weight.grad.norm()" if reads else "loss.backward()"
    return trace(*events, census, program(text))


def test_gradients_cleared_before_each_of_several_backward_passes_are_reported():
    (finding,) = ZeroGradAfterBackward().scan(accumulating(["zbzbzbs"] * 4))

    assert finding.location == CLEAR
    assert "3 backward passes" in finding.message


@pytest.mark.parametrize(
    ("orders", "reads"),
    [
        (["zbbbs"] * 4, False),  # accumulated
        (["zbs"] * 4, False),
        (["zbzbzbs", "zbs", "zbs", "zbzbs"], False),  # skipped at times, by a scaler for instance
        (["zbzos"] * 4, False),  # another pass, for another purpose
        (["zbzbzbs"] * 4, True),  # the program itself uses the gradients
    ],
)
def test_gradients_cleared_for_a_reason_are_not_reported(orders, reads):
    assert list(ZeroGradAfterBackward().scan(accumulating(orders, reads=reads))) == []


@pytest.mark.parametrize(("initial", "found"), [([0.1], 1), ([5e-4], 0), ([], 0)])
def test_warm_up_that_is_never_stepped_is_reported_at_the_scheduler(initial, found):
    census = ParameterCensus(step=0, optimizer=0, parameters=[], initial_rates=initial)
    source = program("\nwarm_up = LinearLR(optimizer)\n")
    events = [optimizer(), census, source, *(step(number, 1e-4) for number in range(40))]

    findings = list(SchedulerMisuse().scan(trace(*events)))

    assert [finding.location.line for finding in findings] == [2] * found
