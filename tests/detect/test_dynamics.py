"""When training that stays finite is called broken, and by which proof, on small traces."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.detect.helpers import optimizer
from torchwhy.detect.base import Detector
from torchwhy.detect.causes.dynamics.collapsed_output import CollapsedOutput
from torchwhy.detect.causes.dynamics.collapsing_loss_scale import CollapsingLossScale
from torchwhy.detect.causes.dynamics.constant_initialisation import ConstantInitialisation
from torchwhy.detect.causes.dynamics.dead_units import DeadUnits
from torchwhy.detect.causes.dynamics.learning_rate_too_high import LearningRateTooHigh
from torchwhy.detect.causes.dynamics.learning_rate_too_low import LearningRateTooLow
from torchwhy.detect.causes.dynamics.loss_spike import LossSpike
from torchwhy.detect.causes.dynamics.momentum_too_high import MomentumTooHigh
from torchwhy.detect.causes.dynamics.stuck_loss import StuckLoss
from torchwhy.detect.causes.dynamics.unscaled_inputs import UnscaledInputs
from torchwhy.detect.causes.dynamics.vanishing_gradients import VanishingGradients
from torchwhy.detect.causes.dynamics.weight_decay_too_strong import WeightDecayTooStrong
from torchwhy.detect.views.training.network_facts import CURVATURE, SYMMETRY
from torchwhy.detect.views.training.training import ENOUGH_STEPS, trainings
from torchwhy.explain.differential import keep_accountable
from torchwhy.finding import Finding, SourceSpan
from torchwhy.record.events import (
    Event,
    OptimizerDescribed,
    RunEnded,
    ScaleChanged,
    Step,
    TensorFacts,
    Weights,
)
from torchwhy.record.learning import Activation, Experiment, ModelOutput
from torchwhy.record.trace import Trace

LINE = SourceSpan("train.py", 20, expression="model(x)")
FALLING = [2.0 * 0.97**step for step in range(200)]
FLAT = [1.0] * 100


def steps(losses: list[float], rate: float = 0.1, index: int = 0) -> list[Event]:
    return [
        Step(
            step=n,
            optimizer=index,
            losses=[loss],
            milliseconds=1.0,
            learning_rates=[rate] if n == 0 else None,
        )
        for n, loss in enumerate(losses)
    ]


def layers(gradients: list[float], weight: float = 0.3, count: int = 2) -> list[Event]:
    names = [f"{n}.weight" for n in range(len(gradients))]
    described = OptimizerDescribed(
        index=0, parameters=names, shapes=[[8, 8]] * len(names), dtypes=["float32"] * len(names)
    )
    samples = [
        Weights(
            step=n,
            optimizer=0,
            names=names,
            weight_rms=[weight] * len(names),
            gradient_rms=list(gradients),
        )
        for n in range(count)
    ]
    return [described, *samples]


def curvature(step: int = 25, **answer: Any) -> Experiment:
    given = {
        "optimizer": 0,
        "curvature": 1.0,
        "rate": 0.1,
        "stable rate": 2.0,
        "ratio": 0.05,
        "bound": 2.0,
    }
    return Experiment(step=step, question=CURVATURE, answer={**given, "possible": 0.1, **answer})


def output(step: int, spread: float, **facts: Any) -> ModelOutput:
    shape = TensorFacts(dtype="float32", shape=[32, 3])
    given = {
        "input_spread": 1.0,
        "rows": 32,
        "training": True,
        "grad": True,
        "location": LINE,
        "given": shape,
    }
    return ModelOutput(
        step=step, path="model", facts=shape, spread=spread, **{**given, "given_rms": 1.0, **facts}
    )


def relu(step: int, dead: int, units: int = 16) -> Activation:
    return Activation(
        step=step,
        op="relu",
        order=1,
        module="model.1",
        location=LINE,
        shape=[32, units],
        units=units,
        dead=dead,
    )


def found(detector: type[Detector], *events: Event) -> list[Finding]:
    return list(detector().scan(Trace(events)))


def test_short_runs_are_never_said_not_to_learn() -> None:
    (training,) = trainings(Trace((optimizer(), *steps([1.0] * 30))))

    assert not training.never_learnt
    assert not training.plateaued


def test_a_spike_at_the_start_does_not_hide_that_the_loss_fell() -> None:
    losses = [0.7, 0.3, 7.0, 50.0, 10.0, 5.0, *[0.001 * 0.99**n for n in range(300)]]
    (training,) = trainings(Trace((optimizer(), *steps(losses))))

    assert not training.never_learnt


def test_noise_around_a_floor_is_not_falling() -> None:
    noise = random.Random(1)
    losses = [1.39 + noise.gauss(0, 0.05) for _ in range(300)]
    (training,) = trainings(Trace((optimizer(), *steps(losses))))

    assert training.never_learnt


def test_optimizers_in_turn_are_not_judged() -> None:
    game = [
        Step(
            step=n,
            optimizer=n % 2,
            losses=[1.0],
            milliseconds=1.0,
            learning_rates=[0.1] if n < 2 else None,
        )
        for n in range(200)
    ]
    second = optimizer()

    both = list(
        trainings(Trace((optimizer(), type(second)(index=1, kind="SGD", defaults={}), *game)))
    )

    assert [training.alone for training in both] == [False, False]


def test_optimizers_one_after_the_other_are_judged() -> None:
    folds = [Step(step=n, optimizer=n // 50, losses=[1.0], milliseconds=1.0) for n in range(100)]
    second = optimizer()

    both = list(
        trainings(Trace((optimizer(), type(second)(index=1, kind="SGD", defaults={}), *folds)))
    )

    assert [training.alone for training in both] == [True, True]


def test_losses_below_zero_say_nothing() -> None:
    (training,) = trainings(Trace((optimizer(), *steps([-1.0, 1.0] * 100))))

    assert not training.never_learnt


def test_rate_above_the_bound_with_a_loss_that_grew_is_too_high() -> None:
    losses = [1.0, 40.0, *[900.0] * 60]
    unstable = curvature(2, ratio=1.0, **{"stable rate": 0.1})

    (finding,) = found(LearningRateTooHigh, optimizer(), *steps(losses), *layers([0.1]), unstable)

    assert finding.location is not None
    assert finding.location.line == 7
    assert "from 1 to 900" in finding.message


def test_stable_rate_with_a_loss_that_grew_is_not_blamed() -> None:
    losses = [0.01, 0.2, *[1.0] * 60]

    assert not found(
        LearningRateTooHigh, optimizer(), *steps(losses), *layers([0.1]), curvature(2, ratio=0.2)
    )


def test_swinging_loss_needs_a_rate_well_above_the_bound() -> None:
    at_the_edge = curvature(25, ratio=1.05)

    assert not found(LearningRateTooHigh, optimizer(), *steps(FLAT), *layers([0.1]), at_the_edge)
    assert found(
        LearningRateTooHigh, optimizer(), *steps(FLAT), *layers([0.1]), curvature(25, ratio=5.0)
    )


def test_units_that_an_update_killed_are_the_rates_work() -> None:
    losses = [0.1, *[0.0] * 20]
    seen = [relu(0, dead=2), output(0, 0.9), relu(2, dead=16), output(2, 0.0)]

    events = (optimizer("Adam", lr=1000.0), *steps(losses, rate=1000.0), *layers([0.1]), *seen)

    (finding,) = found(LearningRateTooHigh, *events)
    (echo,) = found(DeadUnits, *events)

    assert "killed 1 ReLU layer (all 16 units" in finding.message
    assert "the loss of 0.0 does not show learning" in echo.message


def test_units_that_were_dead_from_the_start_are_not_the_rates_work() -> None:
    seen = [relu(0, dead=16), output(0, 0.0), relu(25, dead=16), output(25, 0.0)]

    events = (optimizer("Adam", lr=1000.0), *steps(FLAT, rate=1000.0), *layers([0.0]), *seen)

    assert not found(LearningRateTooHigh, *events)
    assert found(DeadUnits, *events)[0].step == 0


def test_half_dead_layers_are_not_reported() -> None:
    assert not found(DeadUnits, optimizer(), *steps(FLAT), relu(25, dead=8), output(25, 0.4))


def test_dead_layer_beside_a_living_one_is_not_reported_when_the_output_lives() -> None:
    assert not found(DeadUnits, optimizer(), *steps(FLAT), relu(25, dead=16), output(25, 0.4))


def test_constant_output_at_a_resting_loss_is_collapsed() -> None:
    (finding,) = found(CollapsedOutput, optimizer(), *steps([1.0986] * 100), output(50, 0.0))

    assert "ln 3" in finding.message
    assert finding.location == LINE


@pytest.mark.parametrize("losses", [FALLING, [2.0, *[1e-5] * 99]], ids=["still falling", "learnt"])
def test_constant_output_is_fine_where_it_is_the_answer(losses: list[float]) -> None:
    assert not found(CollapsedOutput, optimizer(), *steps(losses), output(50, 0.0))


def test_constant_input_explains_a_constant_output() -> None:
    assert not found(CollapsedOutput, optimizer(), *steps(FLAT), output(50, 0.0, input_spread=0.0))


def test_rate_is_too_low_only_where_the_loss_has_a_slope() -> None:
    low = {"ratio": 1e-8, "rate": 1e-9}
    events = (optimizer(lr=1e-9), *steps(FLAT, rate=1e-9), *layers([0.1]))

    assert found(LearningRateTooLow, *events, curvature(**low))
    assert not found(LearningRateTooLow, *events, curvature(**low, possible=1e-9))
    assert not found(LearningRateTooLow, *events)


def test_a_rehearsal_does_not_show_that_the_rate_is_too_low() -> None:
    events = (optimizer(lr=1e-9), *steps(FLAT, rate=1e-9), *layers([0.1]))
    cut = RunEnded(steps=len(FLAT), cut_short=True)

    assert not found(LearningRateTooLow, *events, curvature(ratio=1e-8, rate=1e-9), cut)


@pytest.mark.parametrize("count", [12, 60], ids=["few steps", "in a warm-up"])
def test_the_beginning_of_a_run_shows_no_lasting_growth(count: int) -> None:
    grown = steps([1.0, *[50.0] * (count - 1)])
    if count > ENOUGH_STEPS:
        grown.append(
            Step(step=count, optimizer=0, losses=[50.0], milliseconds=1.0, learning_rates=[0.2])
        )
    events = (optimizer(), *grown)

    (whole,) = trainings(Trace(events))
    (beginning,) = trainings(Trace((*events, RunEnded(steps=count, cut_short=True))))

    assert whole.stays_grown
    assert not beginning.stays_grown


def test_low_rate_that_still_improves_is_not_reported() -> None:
    events = (optimizer(lr=1e-9), *steps(FALLING, rate=1e-9), *layers([0.1]))

    assert not found(LearningRateTooLow, *events, curvature(ratio=1e-8))


def test_gradients_vanish_towards_the_first_layer() -> None:
    vanishing = [1e-9, 1e-7, 1e-5, 1e-3, 1e-1]

    (finding,) = found(VanishingGradients, optimizer(), *steps(FLAT), *layers(vanishing))

    assert "gradient of 0.weight is 1e-08 of that of 4.weight" in finding.message
    assert not found(VanishingGradients, optimizer(), *steps(FALLING), *layers(vanishing))
    assert not found(VanishingGradients, optimizer(), *steps(FLAT), *layers([0.01, 0.1, 0.1, 0.1]))


def test_zero_gradients_are_dead_not_vanishing() -> None:
    assert not found(VanishingGradients, optimizer(), *steps(FLAT), *layers([0.0, 0.0, 0.0, 0.1]))


def test_equal_rows_of_a_hidden_layer_are_reported_those_of_the_last_are_not() -> None:
    def still(names: str) -> Experiment:
        return Experiment(
            step=10, question=SYMMETRY, answer={"optimizer": 0, "still equal": names, "updates": 10}
        )

    events = (optimizer(), *steps(FLAT), *layers([0.1, 0.1]))

    assert found(ConstantInitialisation, *events, still("0.weight"))
    assert not found(ConstantInitialisation, *events, still("1.weight"))
    assert not found(ConstantInitialisation, *events, still(""))


def test_large_inputs_are_guilty_only_if_they_explain_the_excess() -> None:
    losses = [1.0, 40.0, *[900.0] * 60]
    unstable = curvature(2, ratio=50.0)
    events = (optimizer(), *steps(losses), *layers([0.1]), unstable)

    assert keep_accountable(found(UnscaledInputs, *events, output(0, 0.9, given_rms=100.0)))
    assert not found(UnscaledInputs, *events, output(0, 0.9, given_rms=2.0))
    enormous = curvature(2, ratio=1e9)
    claimed = found(UnscaledInputs, *events[:-1], enormous, output(0, 0.9, given_rms=100.0))
    assert keep_accountable(claimed) == []


def test_large_inputs_of_a_run_that_learns_are_not_reported() -> None:
    assert not found(UnscaledInputs, optimizer(), *steps(FALLING), output(0, 0.9, given_rms=1000.0))


def test_spike_that_heals_is_not_reported() -> None:
    healing = [*FALLING[:100], 30.0, *[30.0 * 0.8**n for n in range(100)]]
    lasting = [*FALLING[:100], 30.0, *[5.0] * 100]

    assert not found(LossSpike, optimizer(), *steps(healing))
    assert found(LossSpike, optimizer(), *steps(lasting))[0].step == 100


def test_lasting_spike_under_a_rate_that_served_is_not_the_rates_work() -> None:
    lasting = [*FALLING[:100], 300.0, *[50.0] * 100]

    assert not found(
        LearningRateTooHigh, optimizer(), *steps(lasting), *layers([9.0]), curvature(101, ratio=9.0)
    )


def test_loss_that_repeats_itself_is_stuck_only_where_it_has_a_slope() -> None:
    (finding,) = found(StuckLoss, optimizer(), *steps(FLAT), curvature())

    assert finding.severity == "warning"
    assert not found(StuckLoss, optimizer(), *steps(FLAT), curvature(possible=1e-12))


def test_noisy_loss_that_does_not_fall_gets_a_note() -> None:
    noise = random.Random(1)

    (finding,) = found(
        StuckLoss, optimizer(), *steps([1.39 + noise.gauss(0, 0.05) for _ in range(300)])
    )

    assert finding.severity == "note"


def test_decay_is_too_strong_only_if_it_alone_explains_the_shrinking() -> None:
    def shrinking(decay: float) -> list[Finding]:
        samples = [layers([0.01], weight)[1] for weight in (0.3, 0.03)]
        described = layers([0.01])[0]
        late = type(samples[1])(
            step=90, optimizer=0, names=["0.weight"], weight_rms=[0.003], gradient_rms=[0.01]
        )
        events = (optimizer(weight_decay=decay), *steps(FLAT), described, samples[0], late)
        return found(WeightDecayTooStrong, *events)

    assert shrinking(1.0)
    assert not shrinking(1e-4)


def test_momentum_is_too_high_when_a_stable_rate_keeps_swinging() -> None:
    wave = [1.0 if n % 40 < 20 else 0.01 for n in range(200)]

    assert found(MomentumTooHigh, optimizer(momentum=0.999), *steps(wave), curvature())
    assert not found(MomentumTooHigh, optimizer(momentum=0.9), *steps(wave), curvature())
    assert not found(
        MomentumTooHigh, optimizer(momentum=0.999), *steps(wave), curvature(curvature=90.0)
    )


def test_scale_that_holds_after_a_few_halvings_is_healthy() -> None:
    def scales(*values: float) -> list[Finding]:
        return found(
            CollapsingLossScale, *(ScaleChanged(step=n, scale=v) for n, v in enumerate(values))
        )

    assert not scales(65536.0, 32768.0, 16384.0)
    held = Step(step=25, optimizer=0, losses=[1.0], milliseconds=1.0)
    fell = [ScaleChanged(step=0, scale=2.0**n) for n in range(40, 20, -1)]
    assert not found(CollapsingLossScale, *fell, held)
    assert scales(*[2.0**n for n in range(16, -10, -1)])
