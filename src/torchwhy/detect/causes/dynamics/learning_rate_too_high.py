from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.numerics import (
    domain_error,
    exp_overflow,
    float_overflow,
    half_precision_overflow,
    infinity_arithmetic,
    log_of_nonpositive,
)
from torchwhy.detect.checks.standing_questions import STABLE
from torchwhy.detect.fixes.training import accumulated, optimizers
from torchwhy.detect.views.crash.crash_evidence import first_line
from torchwhy.detect.views.crash.refused_by_distribution import refusals
from torchwhy.detect.views.graph.accumulation import advice_for_passes, undivided_passes
from torchwhy.detect.views.nonfinite.birth_facts import certainty_of, counted_births, show
from torchwhy.detect.views.nonfinite.origins import word
from torchwhy.detect.views.training.history import History, curve_of, history_of, times
from torchwhy.detect.views.training.manual_divergence import (
    ManualDivergence,
    find_manual_divergence,
)
from torchwhy.detect.views.training.overshoot import (
    LINE_SEARCH,
    find_overshoot,
    proof_of,
    stable_advice,
)
from torchwhy.detect.views.training.rate_places import place_of_rate
from torchwhy.detect.views.training.sweeps import judged_among
from torchwhy.detect.views.training.training import BY_LINE_SEARCH, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Account, Evidence, Finding, Fix
from torchwhy.record.events import Birth, OptimizerMade
from torchwhy.record.numbers import is_finite
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

GROWTH = 10.0  # Weights and loss that stay within one order of magnitude have not diverged.
SUDDEN_UPDATES = 3  # So few updates leave no loss curve to read, only the size of the jump.
HUGE_GRADIENT = (
    1e3  # Gradient over weights before any update; above this, the gradient itself exploded.
)
MOVED = 1.2  # Healthy weights grow by less in the few steps in which a wrong learning rate doubles the loss.
JUMP = 1e3  # A loss that rises this much in one step of a healthy run met a bad batch; divergence is gradual.
ADAPTIVE = frozenset(
    {"Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad", "Adadelta", "SparseAdam"}
)
# The failures that too large numbers lead to; a zero row, a bad sample or an empty mask is not one of them.
CONSEQUENCES = (
    float_overflow.judge,
    exp_overflow.judge,
    half_precision_overflow.judge,
    infinity_arithmetic.judge,
    log_of_nonpositive.judge,
    domain_error.judge,
)


class RateOvershoots(Diagnosis):
    """The updates are proven too long, in a run that stayed finite."""

    rate: float
    optimizer: str
    harm: Diagnosis
    stable_rate: float | None
    passes: int  # The backward passes that add up before a step, if the loss is not divided by their number.
    update: float  # The size of the decisive update over that of the weights.
    message = "lr={shown} is too high for {optimizer} here: the updates {harm}"

    @property
    def shown(self) -> str:
        """Return the learning rate with a few digits."""
        return show(self.rate)

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return the advice: a lower learning rate, after a divided loss if several passes add up."""
        return (
            *advice_for_passes(self.passes),
            stable_advice(self.rate, self.optimizer, bound=self.stable_rate, update=self.update),
        )


class WeightsDiverge(Diagnosis):
    """Weights and loss grew at each update until they overflowed."""

    rate: float | None
    first_rate: float | None
    optimizer: str
    updates: int
    growth: float
    growth_per_step: float
    fastest: str
    losses: list[float]
    ends: list[str]  # The losses that were not finite: "inf", "NaN".
    has_momentum: bool
    best_step: int | None
    best_rate: float | None
    passes: int
    message = (
        "lr={shown} is too high for {optimizer} here: in {steps} the weights grew {times}, "
        "most of all {fastest}{loss_path}"
    )
    headline = "lr={shown} is too high for {optimizer} here: in {steps} the weights grew {times}, most of all {fastest}"

    @property
    def shown(self) -> str:
        """Return the learning rate, and the initial one if it differs."""
        if self.rate == self.first_rate:
            return show(self.rate)
        return f"{show(self.rate)} (initially {show(self.first_rate)})"

    @property
    def steps(self) -> str:
        """Return the number of updates."""
        return "1 step" if self.updates == 1 else f"{self.updates} steps"

    @property
    def times(self) -> str:
        """Return the growth of the weights."""
        return times(self.growth)

    @property
    def loss_path(self) -> str:
        """Return `, and the loss went 1.2 → 3e+04 → inf`, or nothing with fewer than two losses."""
        if len(self.losses) < 2:
            return ""
        return f", and the loss went {' → '.join([curve_of(self.losses), *self.ends])}"

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return the advice: a lower learning rate, after a divided loss if several passes add up."""
        return (*advice_for_passes(self.passes), advice_for(self))


class LearningRateTooHigh(Detector):
    """The learning rate is so high that each update overshoots, until weights and loss overflow."""

    name = "learning-rate-too-high"
    question = STABLE
    symptom = "nonfinite"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from self._overshoots(trace)
        yield from self._refused(trace)
        births = failing_births(trace)
        if not births or not are_consequences(births):
            return
        diverged = find_manual_divergence(trace, births[0])
        if diverged is not None:
            yield self._manual(trace, diverged, births)
        grown = weights_diverged(trace)
        if grown:
            yield self._finding(trace, max(grown, key=lambda one: one.weight_ratio), births)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case RateOvershoots(optimizer=kind) | WeightsDiverge(optimizer=kind) if (
                kind in BY_LINE_SEARCH
            ):
                search = ('"strong_wolfe"',)
                yield from optimizers.set_to(finding.location, source, "line_search_fn", search)
            case RateOvershoots(passes=passes) | WeightsDiverge(passes=passes):
                yield from accumulated.divided(finding.location, source, passes=passes)
        yield from optimizers.lower_rate(
            finding.location,
            source,
            stable_rate=_stable_rate(finding.diagnosis),
            rate=_rate(finding.diagnosis),
        )

    def _overshoots(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for each optimizer whose updates were too long in a run that stayed finite."""
        for training in trainings(trace):
            overshoot = find_overshoot(trace, training)
            if overshoot is None:
                continue
            diagnosis = RateOvershoots(
                rate=training.rate or 0.0,
                optimizer=training.made.kind,
                harm=overshoot.harm,
                stable_rate=overshoot.stable_rate,
                passes=undivided_passes(trace, training.made.index),
                update=overshoot.update[1],
            )
            found = self.found(
                trace,
                diagnosis,
                severity="error",
                step=overshoot.update[0],
                location=training.made.location,
                evidence=proof_of(training, overshoot),
                account=Account(),
            )
            yield judged_among(found, training, trace)

    def _refused(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for each exception about values that a huge update led to."""
        for training, harm, crash in refusals(trace):
            rate = training.rate or 0.0
            found = self.found(
                trace,
                RateOvershoots(
                    rate=rate,
                    optimizer=training.made.kind,
                    harm=harm,
                    stable_rate=None,
                    passes=undivided_passes(trace, training.made.index),
                    update=harm.size,
                ),
                severity="error",
                step=harm.updated_at,
                location=training.made.location,
                evidence=[
                    Evidence(
                        f"{crash.event.type}: {first_line(crash.event.message)}",
                        step=crash.event.step,
                        location=crash.event.location,
                    )
                ],
            )
            yield replace(found, crash=crash.number)

    def _finding(self, trace: Trace, history: History, births: list[Birth]) -> Finding:
        made = history.made
        best = min(history.losses, key=lambda pair: abs(pair[1]))[0] if history.losses else None
        diagnosis = WeightsDiverge(
            rate=history.rate,
            first_rate=history.first_rate,
            optimizer=made.kind,
            updates=history.updates,
            growth=history.weight_ratio,
            growth_per_step=history.growth_per_step,
            fastest=history.fastest,
            losses=[loss for _, loss in history.losses],
            ends=[word(x) for one in trace.alarms for x in one.losses if not is_finite(x)][:1],
            has_momentum=bool(made.defaults.get("momentum")),
            best_step=best,
            best_rate=history.rate_at(best) if best is not None else None,
            passes=undivided_passes(trace, made.index),
        )
        return self.found(
            trace,
            diagnosis,
            severity="error",
            step=births[0].step,
            location=place_of_rate(trace, made, (history.first_rate, history.rate)),
            evidence=evidence_of(history),
            certainty=certainty_of(trace, births[0]),
            births=tuple(birth.id for birth in births),
            account=Account(),
        )

    def _manual(self, trace: Trace, diverged: ManualDivergence, births: list[Birth]) -> Finding:
        return self.found(
            trace,
            diverged,
            severity="error",
            step=births[0].step,
            location=diverged.at,
            certainty=certainty_of(trace, births[0]),
            births=tuple(birth.id for birth in births),
        )


def _rate(diagnosis: Diagnosis | None) -> float | None:
    """Return the learning rate that the optimizer was made with."""
    match diagnosis:
        case RateOvershoots(rate=rate) | WeightsDiverge(first_rate=rate):
            return rate
    return None


def _stable_rate(diagnosis: Diagnosis | None) -> float | None:
    """Return the highest stable learning rate if it was measured and the updates scale with the gradient."""
    if not isinstance(diagnosis, RateOvershoots) or diagnosis.optimizer in ADAPTIVE:
        return None
    return diagnosis.stable_rate


def weights_diverged(trace: Trace) -> list[History]:
    """Return the optimizers whose updates drove the weights up before the failing step."""
    births = failing_births(trace)
    if not births:
        return []
    histories = [history_of(trace, made, births[0].step) for made in trace.of(OptimizerMade)]
    return [history for history in histories if history is not None and has_diverged(history)]


def failing_births(trace: Trace) -> list[Birth]:
    """Return the births of the first failing step."""
    births = counted_births(trace)
    step = trace.alarms[0].step if trace.alarms else None
    chosen = [birth for birth in births if step is None or birth.step == step]
    return [birth for birth in chosen if birth.step == chosen[0].step]


def are_consequences(births: list[Birth]) -> bool:
    """Tell whether too large numbers led to the failure, and no bad value came in from outside."""
    if any(
        birth.kind == "source"
        and birth.origin not in ("parameter", "buffer")
        and birth.phase != "update"  # where the optimizer computes its own numbers
        for birth in births
    ):
        return False
    first = births[0]
    return first.kind == "source" or any(judge(first) is not None for judge in CONSEQUENCES)


def has_diverged(history: History) -> bool:
    """Tell whether the updates drove the weights up, rather than one bad batch or one exploded gradient."""
    if not history.weight_ratio >= GROWTH:
        return False
    if history.updates <= SUDDEN_UPDATES:
        start = history.sizes[0][1]
        exploded = history.first_gradient > HUGE_GRADIENT * max(start, 1e-3)
        return history.made.kind in ADAPTIVE or not exploded
    return history.loss_ratio >= GROWTH and weights_grew_before_loss(history)


def weights_grew_before_loss(history: History) -> bool:
    """Tell whether the weights grew before the loss did; with a bad batch the loss grows first."""
    start = abs(history.losses[0][1])
    places = [
        place for place, (_, loss) in enumerate(history.losses) if abs(loss) >= GROWTH * start
    ]
    if not places or not places[0] or history.made.kind in BY_LINE_SEARCH:
        return True  # A step without a line search may jump any distance.
    before, risen = history.losses[places[0] - 1], history.losses[places[0]]
    there = next((size for step, size in history.sizes if step == risen[0]), None)
    if there is not None:
        return there >= MOVED * history.sizes[0][1]
    return history.rate_was_raised_before(risen[0]) or abs(risen[1]) < JUMP * abs(before[1])


def evidence_of(history: History) -> list[Evidence]:
    """Return the curves of loss and weights, their growth per step, and the last raise of the learning rate."""
    losses = tuple(loss for _, loss in history.losses)
    sizes = tuple(size for _, size in history.sizes if math.isfinite(size))
    facts = [Evidence("RMS of all weights at the sampled steps", series=sizes)]
    if losses:
        facts.insert(
            0, Evidence("loss of each step before the failure", value=losses[-1], series=losses)
        )
    if math.isfinite(history.growth_per_step):
        growth = history.growth_per_step
        facts.append(Evidence(f"the weights grew {times(growth)} per step", value=growth))
    for step, before, after in history.raises[-1:]:
        claim = f"the learning rate was raised from {before:g} to {after:g}"
        facts.append(Evidence(claim, step=step))
    return facts


def advice_for(diverged: WeightsDiverge) -> str:
    """Return which learning rate to use; for plain SGD with several updates, the growth bounds it."""
    rate, growth = diverged.rate, diverged.growth_per_step
    if diverged.optimizer in BY_LINE_SEARCH:
        return LINE_SEARCH
    plain = diverged.optimizer == "SGD" and not diverged.has_momentum
    if rate is None:
        return f"lower the learning rate of {diverged.optimizer} by a factor of 10 or more"
    if rate != diverged.first_rate and diverged.best_step is not None:
        return (
            f"stop raising the learning rate at about lr={show(diverged.best_rate)}, its value at step "
            f"{diverged.best_step} when the loss was lowest; it is now {show(rate)}"
        )
    if plain and math.isfinite(growth) and diverged.updates > 1:
        # On a quadratic, SGD multiplies the error by 1 - lr·curvature at each step; stable means lr < 2 / curvature.
        bound = 2 * rate / (1 + growth)
        return (
            f"lower lr={show(rate)} to less than about {bound:.2g}, the stable limit by this growth"
        )
    usual = "1e-3" if diverged.optimizer in ADAPTIVE else f"{rate / 100:.2g}"
    return f"lower lr={show(rate)}, for instance to {usual}"
