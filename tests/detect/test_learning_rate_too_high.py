"""When the rate is the cause of a failure, on small traces."""

from __future__ import annotations

from tests.detect.helpers import alarm, birth, optimizer, tensor, trace_with, twin, weights
from tests.support.traces import program
from torchwhy.detect.causes.dynamics.learning_rate_too_high import LearningRateTooHigh
from torchwhy.detect.views.training.rate_places import place_of_rate
from torchwhy.finding import Finding
from torchwhy.record.events import Birth, Step
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import SchedulerSeen

LOSSES = [1.2, 3e4, 7e8, 2e13, 5e17, 1e22]
SIZES = [0.5, 80.0, 1e4, 2e6, 3e8, 5e10]


def overflow(step: int) -> Birth:
    return birth("aten.pow.Tensor_Scalar", tensor(1e30), step=step, wider="finite", value="inf")


def found(trace: Trace) -> list[Finding]:
    return list(LearningRateTooHigh().scan(trace))


def test_growth_of_weights_and_loss_is_the_cause_of_the_overflow() -> None:
    born = overflow(5)
    trace = trace_with(
        optimizer(lr=1000.0), born, alarm(5), losses=[*LOSSES[:5], float("inf")], sizes=SIZES
    )

    (finding,) = found(trace)

    assert finding.location is not None
    assert finding.location.line == 7
    assert finding.births == (born.id,)
    assert finding.message == (
        "lr=1000 is too high for SGD here: in 5 steps the weights grew 1e+11×, most of all fc.weight (1e+11×), "
        "and the loss went 1.2 → 3e+04 → 7e+08 → 2e+13 → 5e+17 → +inf"
    )
    assert finding.evidence[0].series == (1.2, 3e4, 7e8, 2e13, 5e17)


def test_stable_rate_of_plain_sgd_follows_from_the_growth() -> None:
    trace = trace_with(
        optimizer(lr=10.0),
        overflow(4),
        alarm(4),
        losses=[1, 81, 81**2, 81**3, 81**4],
        sizes=[1, 9, 81, 729, 6561],
    )

    (finding,) = found(trace)

    # The weights grow 9× a step: |1 - lr·curvature| = 9, so curvature = 1, and the stable rate is below 2.
    assert "less than about 2," in finding.fixes[0].title


def test_one_step_of_adam_is_enough() -> None:
    born = birth("aten.log.default", tensor(0.0), step=1)
    trace = trace_with(
        optimizer("Adam", lr=1000.0),
        born,
        alarm(1),
        losses=[1.4, float("inf")],
        sizes=[0.3, 1000.0],
    )

    (finding,) = found(trace)

    assert finding.message.startswith(
        "lr=1000 is too high for Adam here: in 1 step the weights grew 3.33e+03×"
    )


def test_failure_before_any_update_is_not_reported() -> None:
    trace = trace_with(
        optimizer(lr=1000.0), overflow(0), alarm(0), losses=[float("inf")], sizes=[0.3]
    )

    assert not found(trace)


def test_weights_of_normal_size_are_not_reported() -> None:
    born = birth("aten.log.default", tensor(0.0), step=5)
    trace = trace_with(
        optimizer(),
        born,
        alarm(5),
        losses=[2.0, 1.8, 1.7, 1.5, 1.4, float("inf")],
        sizes=[0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
    )

    assert not found(trace)


def test_bad_sample_is_not_reported() -> None:
    born = birth("aten.mm.default", step=5, kind="source", origin="batch")
    trace = trace_with(optimizer(lr=1000.0), born, alarm(5), losses=LOSSES, sizes=SIZES)

    assert not found(trace)


def test_other_fault_at_large_weights_is_not_reported() -> None:
    born = birth(
        "aten.div.Tensor",
        tensor(1.0),
        tensor(0.0),
        step=5,
        node="SqrtBackward0",
        forward=twin("aten.sqrt.default"),
    )
    trace = trace_with(optimizer(lr=1000.0), born, alarm(5), losses=LOSSES, sizes=SIZES)

    assert not found(trace)


def test_exploded_gradient_at_the_first_step_is_not_reported() -> None:
    events = weights([0.3, 1e9], gradient=1e12)
    trace = trace_with(
        optimizer(lr=0.01), overflow(1), alarm(1), *events, losses=[2.3, float("inf")]
    )

    assert not found(trace)


def test_loss_that_rose_before_the_weights_is_not_reported() -> None:
    losses = [1.0, 0.9, 0.8, 0.7, 1e12, 1e20, float("inf")]
    sizes = [0.3, 0.3, 0.3, 0.3, 0.31, 1e6, 1e9]
    trace = trace_with(optimizer(lr=0.01), overflow(6), alarm(6), losses=losses, sizes=sizes)

    assert not found(trace)


def test_manual_updates_without_an_optimizer_are_not_reported() -> None:
    trace = trace_with(overflow(5), alarm(5), losses=LOSSES, sizes=SIZES)

    assert not found(trace)


def test_sudden_rise_of_the_loss_between_two_samples_of_the_weights_is_not_reported() -> None:
    losses = [1.0] * 40 + [1e9, 1e15, float("inf")]
    samples = [0.3] * 20
    late = weights([0.3] * 42 + [1e12])[-1]
    trace = trace_with(
        optimizer(lr=0.01), overflow(42), alarm(42), late, losses=losses, sizes=samples
    )

    assert not found(trace)


def test_steady_rise_late_in_the_run_is_reported() -> None:
    losses = [1.0] * 40 + [20.0, 900.0, 1e6, 1e12, float("inf")]
    samples = [0.3] * 20
    late = weights([0.3] * 44 + [1e12])[-1]
    trace = trace_with(
        optimizer(lr=0.01), overflow(44), alarm(44), late, losses=losses, sizes=samples
    )

    assert len(found(trace)) == 1


def test_raised_rate_is_told_with_the_one_that_worked() -> None:
    losses = [1.0, 0.5, 30.0, 1e6, 1e12]
    rates = [0.1, 0.2, 10.0, 10.0, 10.0]
    steps = [
        Step(step=i, optimizer=0, losses=[loss], milliseconds=1.0, learning_rates=[rate])
        for i, (loss, rate) in enumerate(zip(losses, rates, strict=True))
    ]
    trace = trace_with(
        optimizer(lr=0.1), *steps, overflow(4), alarm(4), sizes=[0.3, 0.3, 3.0, 1e4, 1e8]
    )

    (finding,) = found(trace)

    assert finding.message.startswith("lr=10 (initially 0.1) is too high")
    assert "lr=0.2, its value at step 1" in finding.fixes[0].title


def test_a_rate_raised_by_hand_is_blamed_where_it_is_set() -> None:
    made = optimizer(lr=0.1)
    text = program("\nfor group in optimizer.param_groups:\n    group['lr'] = 5.0\n")

    assert place_of_rate(Trace((made, text)), made, (0.1, 5.0)).line == 3
    assert place_of_rate(Trace((made, text)), made, (0.1, 0.1)) == made.location
    scheduler = SchedulerSeen(index=0, kind="LambdaLR", step=1, optimizer=0)
    assert place_of_rate(Trace((made, text, scheduler)), made, (0.1, 5.0)) == made.location
