from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.dynamics.learning_rate_too_high import are_consequences, failing_births
from torchwhy.detect.checks.standing_questions import FALLS
from torchwhy.detect.fixes.training import optimizers
from torchwhy.detect.views.training.history import total_size
from torchwhy.detect.views.training.network_facts import weight_names
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.sweeps import judged_among
from torchwhy.detect.views.training.training import ADAPTIVE, Training, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Weights
from torchwhy.record.learning import ParameterCensus
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

SHRUNK = 0.2  # Weights at this share of their initial size no longer carry the signal.
ALONE = 0.5  # Decay by itself, without any gradient, must leave at most half of the weights.
LITTLE = 0.5  # A loss above this share of its first value has hardly improved.
DECOUPLED = ("AdamW",)
TURNS_AROUND = 2.0  # Rate times decay beyond which decay multiplies each weight by less than -1.
GREW = 2.0  # So much growth shows that nothing held the weights.


class DecayShrinks(Diagnosis):
    """Weight decay alone would have shrunk the weights, they did shrink, and the loss has plateaued."""

    decay: float
    share: float
    sizes: list[float]
    left_by_decay: float
    level: float
    message = (
        "weight_decay={decay:g} takes {share:.1%} off every weight at each step: they are down to {shrunk:.1%} of "
        "their initial size, and the loss has plateaued at {level:.3g}"
    )
    advice = "lower weight_decay={decay:g}; 1e-4 to 1e-2 is usual"

    @property
    def shrunk(self) -> float:
        """Return the share of the initial weights that is left."""
        return self.sizes[-1] / max(self.sizes[0], 1e-30)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence("RMS of the weights at the sampled steps", series=tuple(self.sizes))
        yield Evidence(
            f"decay alone would have left {self.left_by_decay:.1g} of them",
            value=self.left_by_decay,
        )


class DecayOvershoots(Diagnosis):
    """Rate times decay exceeds 2, so decay alone turns every weight around and enlarges it at each step."""

    decay: float
    rate: float
    optimizer: str
    growth: float
    sizes: list[float]
    message = (
        "lr={rate:g} times weight_decay={decay:g} is {product:.3g}: at each step decay alone multiplies every weight "
        "by {factor:.3g}, and the weights grew {growth:.3g}-fold"
    )
    advice = "lower weight_decay={decay:g}; 1e-4 to 1e-2 is usual"

    @property
    def product(self) -> float:
        """Return the share of each weight that decay takes off at one step."""
        return self.rate * self.decay

    @property
    def factor(self) -> float:
        """Return what decay multiplies each weight by."""
        return 1 - self.product

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence("RMS of the weights at the sampled steps", series=tuple(self.sizes))
        yield Evidence(
            f"with lr={self.rate:g}, weight decay above {2 / self.rate:.3g} makes weights grow",
            value=self.product,
        )


class WeightDecayTooStrong(Detector):
    """Weight decay is so strong that the weights shrink towards 0 and the network ignores its input."""

    name = "weight-decay-too-strong"
    question = FALLS

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for training in trainings(trace):
            yield from self._overshoots(trace, training)
        if trace.alarms:
            return
        for training in trainings(trace):
            decay, names = _strongest(trace, training)
            if decay <= 0 or not training.plateaued or len(training.samples) < 2:
                continue
            start = _size(training, training.samples[0], names)
            shrunk = _size(training, training.samples[-1], names) / max(start, 1e-30)
            alone = _by_decay_alone(training, decay, start)
            hardly = median(training.tail) > LITTLE * training.losses[0][1]
            if hardly and shrunk <= SHRUNK and alone <= ALONE:
                diagnosis = DecayShrinks(
                    decay=decay,
                    share=(training.rate or 0.0) * decay,
                    sizes=[_size(training, sample, names) for sample in training.samples],
                    left_by_decay=alone,
                    level=median(training.tail),
                )
                found = self.found(
                    trace,
                    diagnosis,
                    severity="error",
                    step=training.first_step,
                    location=training.made.location,
                    evidence=[loss_curve(training)],
                )
                yield judged_among(found, training, trace)

    def _overshoots(self, trace: Trace, training: Training) -> Iterator[Finding]:
        """Yield a finding if decay by itself makes the weights grow, and they grew."""
        decay, names = _strongest(trace, training)
        rate = training.rate or 0.0
        is_added = training.made.kind in ADAPTIVE and training.made.kind not in DECOUPLED
        if rate * decay <= TURNS_AROUND or is_added or len(training.samples) < 2:
            return
        sizes = [_size(training, sample, names) for sample in training.samples]
        finite = [size for size in sizes if math.isfinite(size)]
        if len(finite) < 2 or finite[-1] < GREW * finite[0]:
            return
        diagnosis = DecayOvershoots(
            decay=decay,
            rate=rate,
            optimizer=training.made.kind,
            growth=finite[-1] / max(finite[0], 1e-30),
            sizes=finite,
        )
        births = failing_births(trace)
        yield self.found(
            trace,
            diagnosis,
            severity="error",
            step=training.first_step,
            location=training.made.location,
            births=tuple(birth.id for birth in births)
            if births and are_consequences(births)
            else (),
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        if (
            '"weight_decay"' in source.text
        ):  # A parameter group's own value overrides the optimizer's.
            yield from optimizers.set_in_groups(source, "weight_decay", ("1e-2", "1e-4"))
        else:
            yield from optimizers.set_to(finding.location, source, "weight_decay", ("1e-2", "1e-4"))


def _strongest(trace: Trace, training: Training) -> tuple[float, set[str]]:
    """Return the strongest weight decay of any parameter group and the weights it acts on.

    Only weights of two or more dimensions count: the targets hold the biases in place.
    """
    weights = set(weight_names(training))
    usual = training.made.defaults.get("weight_decay")
    decays = {
        name: decay
        for census in trace.of(ParameterCensus)
        if census.optimizer == training.made.index
        for name, decay in census.decays.items()
        if name in weights
    }
    if not decays:
        return (float(usual) if isinstance(usual, (int, float)) else 0.0), weights
    strongest = max(decays.values())
    return strongest, {name for name, decay in decays.items() if decay == strongest}


def _size(training: Training, sample: Weights, wanted: set[str]) -> float:
    """Return the RMS of these weights."""
    pairs = [(n, s) for n, s in zip(sample.names, sample.weight_rms, strict=True) if n in wanted]
    return (
        total_size([n for n, _ in pairs], [s for _, s in pairs], training.counts) if pairs else 0.0
    )


def _by_decay_alone(training: Training, decay: float, start: float) -> float:
    """Return the share of the weights that decay by itself would have left."""
    rates = [training.rate_at(step) for step, _ in training.losses]
    if training.made.kind in ADAPTIVE and training.made.kind not in DECOUPLED:
        # Adam adds weight_decay to the gradient and then moves by about the learning rate, whatever the gradient.
        return max(0.0, 1 - sum(rates) / start) if start else 1.0
    momentum = training.made.defaults.get("momentum")
    gain = 1 / (1 - momentum) if isinstance(momentum, float) and momentum < 1 else 1.0
    return math.exp(-min(700.0, sum(rate * decay * gain for rate in rates)))
