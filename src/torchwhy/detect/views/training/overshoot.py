"""Updates that are too long for the curvature of the loss, in a run that stays finite: the harm and the proof."""

from __future__ import annotations

import math
from statistics import median

from torchwhy.detect.views.graph.graph_queries import ForwardGraph
from torchwhy.detect.views.training.history import times, total_size
from torchwhy.detect.views.training.network_facts import (
    IDENTICAL,
    Measured,
    constant_output,
    curvatures,
    dead_layers,
    last_observed_step,
    starts_faint,
    training_outputs,
)
from torchwhy.detect.views.training.spikes import jumps, steady_rate
from torchwhy.detect.views.training.training import (
    ADAPTIVE,
    BY_LINE_SEARCH,
    Training,
    trainings,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import Activation
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

UNSTABLE = 1.1  # Learning rate over the stable one; healthy full-batch training hovers at 1.0 ("edge of stability").
AT_THE_BOUND = 0.99  # A loss that jumps from one side of the minimum to the other has exactly 1.0.
DIPS = 2  # Losses of the second half of a rehearsal that are as low as the first ones.
ROSE = 1.5  # A loss that ends this much above its start got worse, if the learning rate is proven unstable.
LEARNT = 0.5  # Below this share of the first loss the model has learnt, even if its output is constant now.
AWAY = 1e4  # Loss over its first value; no noise, curriculum or rare class keeps a loss up there.
CARRIED = 10.0  # If the weights grow this much, too, the updates did it, whatever the curvature is by then.
OUT_OF_THE_GAME = 100.0  # Loss over its first value; between balanced players it stays below 20.
SMALL = (
    0.1  # An update of this share of the weights; those that overshoot are several times as large.
)
WHOLE = 1.0  # An update as large as the weights replaces them.
LINE_SEARCH = 'let it search along its direction: line_search_fn="strong_wolfe", or lower lr'
MOST_POINTS = 400  # A curve keeps about this many losses.


class KilledLayers(Diagnosis):
    """ReLU layers fired at the first step and now output 0 for every sample."""

    layers: int
    units: int
    seen_at: int
    first_loss: float
    last_loss: float
    message = (
        "killed {layers} ReLU {noun} ({every} 0 for every sample at step {seen_at}), "
        "and the loss {went}"
    )

    @property
    def noun(self) -> str:
        """Return `layer` or `layers`."""
        return "layers" if self.layers > 1 else "layer"

    @property
    def every(self) -> str:
        """Return the subject and its verb: all units, or the only one."""
        return f"all {self.units} units output" if self.units > 1 else "its only unit outputs"

    @property
    def went(self) -> str:
        """Return how the loss changed."""
        return change_of(self.first_loss, self.last_loss)


class FlattenedOutput(Diagnosis):
    """The output depended on the input at the first step and no longer does."""

    seen_at: int
    first_loss: float
    last_loss: float
    message = (
        "made the output the same for all samples (seen at step {seen_at}), and the loss {went}"
    )

    @property
    def went(self) -> str:
        """Return how the loss changed."""
        return change_of(self.first_loss, self.last_loss)


class RaisedLoss(Diagnosis):
    """The loss ends far above its start."""

    first_loss: float
    last_loss: float
    stays: bool
    message = "drove the loss from {first_loss:.3g} to {last_loss:.3g}{ending}"

    @property
    def ending(self) -> str:
        """Return `, where it stays`, or nothing."""
        return ", where it stays" if self.stays else ""


class SwingingLoss(Diagnosis):
    """The loss goes up and down and does not fall."""

    level: float
    message = "made the loss swing around {level:.3g} without falling"


class GrownWeights(Diagnosis):
    """The weights grew many times over while a loss, possibly another player's, exploded."""

    growth: float
    first_loss: float
    last_loss: float
    message = "made the weights {times} as large, and a loss {went}"

    @property
    def times(self) -> str:
        """Return the growth as a factor."""
        return times(self.growth)

    @property
    def went(self) -> str:
        """Return how the loss changed."""
        return change_of(self.first_loss, self.last_loss)


def change_of(first: float, last: float) -> str:
    """Return `rose from 1.19 to 47.5`."""
    before, after = f"{first:.3g}", f"{last:.3g}"
    if before == after:
        return f"stayed at {after}"
    return f"{'rose' if last > first else 'fell'} from {before} to {after}"


@dataclass(frozen=True)
class Overshoot:
    """One optimizer's updates that were too long: since when, the harm they did, and the proof."""

    step: int
    harm: Diagnosis
    measured: Measured | None
    update: tuple[int, float]

    @property
    def stable_rate(self) -> float | None:
        """Return the highest stable learning rate, if it was measured and lies below the one in use."""
        measured = self.measured
        return (
            measured.stable_rate
            if measured is not None and math.isfinite(measured.stable_rate)
            else None
        )


def find_overshoot(trace: Trace, training: Training) -> Overshoot | None:
    """Return how the updates of one optimizer overshot; None unless harm and cause are both proven."""
    if trace.alarms or not training.rate or len(training.losses) < 3:
        return None
    if not training.alone:
        return _in_turn(trace, training)
    harm = _harm(trace, training)
    jump = next(jumps(training), None)
    if harm is None or (jump is not None and steady_rate(training, jump)):
        return None  # The learning rate worked until the jump, so the step of the jump has another cause.
    step, done, needed = harm
    # The first unstable measurement counts: the updates have changed the curvature of later ones.
    known = curvatures(trace, training, in_part=True)
    measured = next((m for m in known if m.ratio >= AT_THE_BOUND), None)
    update = decisive_update(training, step)
    proven = any(m.ratio >= needed for m in known) or ran_away(training)
    is_whole = update[1] >= WHOLE and not starts_faint(trace, training)
    if not proven and (not is_whole or needed > UNSTABLE):
        return None
    return Overshoot(step, done, measured, update)


def _in_turn(trace: Trace, training: Training) -> Overshoot | None:
    """Return the overshoot of one of several optimizers that step in turn, as in a GAN.

    Their losses go up and down anyway, so weights that grew many times through updates of their own size are the
    proof, and a loss that exploded, possibly the other player's, is the harm.
    """
    update = decisive_update(training, training.losses[-1][0])
    if update[1] < WHOLE or _growth(training) < CARRIED:
        return None
    for other in trainings(trace):
        first, last = (other.values[0], median(other.tail)) if other.values else (0.0, 0.0)
        if first > 0 and last >= OUT_OF_THE_GAME * first:
            harm = GrownWeights(growth=_growth(training), first_loss=first, last_loss=last)
            return Overshoot(training.losses[-1][0], harm, None, update)
    return None


def ran_away(training: Training) -> bool:
    """Tell whether loss and weights grew together by orders of magnitude and stay there.

    A softmax that is wrong on every sample has almost no curvature, so a stable rate measured there proves nothing.
    """
    if not training.stays_grown or _growth(training) < CARRIED:
        return False
    return median(training.tail) >= AWAY * training.values[0]


def _growth(training: Training) -> float:
    """Return how many times larger the weights are at the end of the run."""
    sizes = [total_size(one.names, one.weight_rms, training.counts) for one in training.samples]
    return sizes[-1] / sizes[0] if sizes and sizes[0] > 0 else 1.0


def decisive_update(training: Training, step: int) -> tuple[int, float]:
    """Return step and relative size of the first update as large as the weights, or else of the largest one."""
    sizes = [(s.step, training.relative_update(s)) for s in training.samples if s.step <= step]
    first = next((pair for pair in sizes if pair[1] >= WHOLE), None)
    return first or max(sizes, key=lambda pair: pair[1], default=(0, 0.0))


def _harm(trace: Trace, training: Training) -> tuple[int, Diagnosis, float] | None:
    """Return since when, what the updates did, and the ratio of learning rate to stable rate that proves it."""
    seen_at = last_observed_step(trace)
    if seen_at is not None and (died := killed_layers(trace, seen_at)):
        harm = KilledLayers(
            layers=len(died),
            units=sum(layer.units for layer in died),
            seen_at=seen_at,
            first_loss=training.values[0],
            last_loss=training.values[-1],
        )
        return seen_at, harm, UNSTABLE
    if seen_at is not None and training.plateaued and _went_flat(trace, seen_at):
        first, last = training.losses[0][1], median(training.tail)
        if last > LEARNT * first:
            flat = FlattenedOutput(seen_at=seen_at, first_loss=first, last_loss=last)
            return seen_at, flat, UNSTABLE
    # The loss grows with its targets, as with those of codes that follow an encoder.
    if ForwardGraph(trace).has_moving_targets and not ran_away(training):
        return None
    if _began_solved(training):
        return None
    if training.stays_grown:
        first, last = training.losses[0][1], median(training.tail)
        grown = next(step for step, loss in training.losses if loss >= ROSE * first)
        return grown, RaisedLoss(first_loss=first, last_loss=last, stays=True), AT_THE_BOUND
    if training.never_learnt:
        first, last = median(training.head), median(training.tail)
        step = training.losses[-1][0]
        if last > ROSE * first:
            if training.cut and sum(loss <= first for loss in training.tail) >= DIPS:
                return None  # The first losses were low by chance, as with batches of one sample.
            return step, RaisedLoss(first_loss=first, last_loss=last, stays=False), AT_THE_BOUND
        if not training.is_steady:
            return None
        return step, SwingingLoss(level=last), 2 * UNSTABLE
    return None


def _began_solved(training: Training) -> bool:
    """Tell whether the first batch was one that the untrained model answers, and the others are learnt by small steps.

    Updates that are too long for every batch keep the loss up or move the weights far.
    """
    others = training.values[1 : max(4, len(training.values) // 20)]
    largest = max((training.relative_update(one) for one in training.samples), default=WHOLE)
    return largest < SMALL and bool(others) and median(training.tail) <= LEARNT * median(others)


def _went_flat(trace: Trace, step: int) -> bool:
    """Tell whether the output depended on the input at the first step and no longer does at a later one."""
    output = training_outputs(trace, 0)
    alive = bool(output) and decode(output[-1].spread) > IDENTICAL
    return alive and constant_output(trace, step) is not None


def killed_layers(trace: Trace, step: int) -> list[Activation]:
    """Return the ReLU layers that fired at the first step and are dead at a later one, if the output is constant."""
    dead = dead_layers(trace, step)
    if not dead or constant_output(trace, step) is None:
        return []
    born_dead = {(a.module, a.location) for a in dead_layers(trace, 0)}
    output = training_outputs(trace, 0)
    alive = bool(output) and decode(output[-1].spread) > IDENTICAL
    return [a for a in dead if (a.module, a.location) not in born_dead] if alive else []


def proof_of(training: Training, overshoot: Overshoot) -> list[Evidence]:
    """Return the evidence that the updates were too long."""
    facts = [loss_curve(training)]
    measured = overshoot.measured
    if measured is not None:
        facts.append(
            Evidence(
                f"the loss's largest curvature at step {measured.step} is {measured.curvature:.3g}: learning rates "
                f"below {measured.stable_rate:.2g} are stable, and lr={measured.rate:g} is "
                f"{times(measured.ratio)} that",
                value=measured.ratio,
                step=measured.step,
            )
        )
    if ran_away(training):
        growth = _growth(training)
        last = training.samples[-1].step
        claim = f"the weights grew with it, {times(growth)} by step {last}"
        facts.append(Evidence(claim, value=growth, step=last))
    step, size = overshoot.update
    if size >= WHOLE:
        claim = f"the update of step {step} was {times(size)} as large as the weights"
        if math.isinf(size):
            claim = f"the weights were 0 before the update of step {step}"
        facts.append(Evidence(claim, value=size, step=step))
    return facts


def loss_curve(training: Training) -> Evidence:
    """Return the losses of the run as a curve, thinned if there are many."""
    values = training.values
    every = max(1, len(values) // MOST_POINTS)
    return Evidence("loss", value=values[-1], series=tuple(values[::every]))


def stable_advice(rate: float, optimizer: str, *, bound: float | None, update: float) -> str:
    """Return which learning rate to use: well below the bound, with updates of at most a tenth of the weights."""
    if optimizer in BY_LINE_SEARCH:
        return LINE_SEARCH
    gentle = rate / 10
    if math.isfinite(update):  # It is inf if the weights were 0.
        gentle /= max(update, 1.0)
    if optimizer in ADAPTIVE:
        return f"lower lr={rate:g}, for instance to {min(gentle, 1e-3):.1g}"
    if bound is None:
        return f"lower lr={rate:g}, for instance to {gentle:.1g}"
    sure = min(bound / 4, gentle) if update >= WHOLE else bound / 4
    return f"lower lr={rate:g} to less than {bound:.2g}, for instance to {sure:.1g}"
