from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from torchwhy.detect.base import Detector
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

SHRUNK = 0.2  # weights at this share of their start have lost what they were for
ALONE = 0.5  # decay by itself, without any gradient, would have halved them at least
LITTLE = 0.5  # a loss above this share of its start was hardly learnt
DECOUPLED = ("AdamW",)


class DecayShrinks(Diagnosis):
    """Weights that decay alone would have shrunk, and that did shrink, in a run whose loss rests."""

    decay: float
    share: float
    sizes: list[float]
    left_by_decay: float
    level: float
    message = (
        "weight_decay={decay:g} takes {share:.1%} off every weight at each step: they are down to {shrunk:.1%} of "
        "their start, and the loss rests at {level:.3g}"
    )
    advice = "lower weight_decay={decay:g}; 1e-4 to 1e-2 is usual"

    @property
    def shrunk(self) -> float:
        """Return what is left of the weights."""
        return self.sizes[-1] / max(self.sizes[0], 1e-30)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "root mean square of the weights at the sampled steps", series=tuple(self.sizes)
        )
        yield Evidence(
            f"decay alone would have left {self.left_by_decay:.1g} of them",
            value=self.left_by_decay,
        )


class WeightDecayTooStrong(Detector):
    """Weight decay is so strong that the weights shrink towards zero and the network forgets its input."""

    name = "weight-decay-too-strong"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if trace.alarms:
            return
        for training in trainings(trace):
            decay, names = _strongest(trace, training)
            if decay <= 0 or not training.rests or len(training.samples) < 2:
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
                    step=0,
                    location=training.made.location,
                    evidence=[loss_curve(training)],
                )
                yield judged_among(found, training, trace)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        if '"weight_decay"' in source.text:  # what a group says itself is stronger
            yield from optimizers.set_in_groups(source, "weight_decay", ("1e-2", "1e-4"))
        else:
            yield from optimizers.set_to(finding.location, source, "weight_decay", ("1e-2", "1e-4"))


def _strongest(trace: Trace, training: Training) -> tuple[float, set[str]]:
    """Return the strongest weight decay and the weights it acts on; groups may have one of their own.

    Only weights of two or more dimensions count: biases are held by the targets.
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
    """Return the root mean square of these weights."""
    pairs = [(n, s) for n, s in zip(sample.names, sample.weight_rms, strict=True) if n in wanted]
    return (
        total_size([n for n, _ in pairs], [s for _, s in pairs], training.counts) if pairs else 0.0
    )


def _by_decay_alone(training: Training, decay: float, start: float) -> float:
    """Return what decay by itself would have left of the weights."""
    rates = [training.rate_at(step) for step, _ in training.losses]
    if training.made.kind in ADAPTIVE and training.made.kind not in DECOUPLED:
        # Adam with weight_decay adds it to the gradient and then takes steps of about the rate, whatever the size.
        return max(0.0, 1 - sum(rates) / start) if start else 1.0
    momentum = training.made.defaults.get("momentum")
    gain = 1 / (1 - momentum) if isinstance(momentum, float) and momentum < 1 else 1.0
    return math.exp(-min(700.0, sum(rate * decay * gain for rate in rates)))
