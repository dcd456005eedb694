from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from torchwhy.detect.base import Detector
from torchwhy.detect.views.training.network_facts import constant_output, last_observed_step
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.learning import ModelOutput
from torchwhy.record.numbers import Real
from torchwhy.record.trace import Trace

LEARNT = (
    1e-3  # a loss at this share of its first value was learnt: then a constant is the right answer
)
NEAR = 0.02  # relative distance at which a loss is at ln C, the loss of guessing among C classes

A_LAYERS_DIMENSIONS = 2  # the weight of every layer that acts on an input has as many or more


class SameForAll(Diagnosis):
    """An output that is the same for all samples, in a run whose loss has come to rest."""

    path: str
    rows: int
    level: float
    classes: int | None  # where the loss rests at that of guessing among so many
    spread: Real
    input_spread: Real
    seen_at: int
    message = (
        "{path} gives the same output for all {rows} samples, whatever goes in; "
        "the loss rests at {level:.4g}{guess}"
    )
    advice = "follow the input through the layers: print `h.std(dim=0)` after each and find where it becomes 0"

    @property
    def guess(self) -> str:
        """Return that this is the loss of guessing, if it is."""
        return f", which is ln {self.classes}: guessing" if self.classes is not None else ""

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "largest difference between two rows of the output, relative to its size",
            value=self.spread,
        )
        yield Evidence("the same for the input", value=self.input_spread, step=self.seen_at)


class CollapsedOutput(Detector):
    """The model gives the same output for every sample, and the loss rests at what a constant can reach."""

    name = "collapsed-output"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        look = last_observed_step(trace)
        if look is None or trace.alarms:
            return
        output = constant_output(trace, look)
        training = next((t for t in trainings(trace) if t.alone and t.rests), None)
        if output is None or training is None or _is_constant_by_design(training, output):
            return
        if median(training.tail) > LEARNT * abs(training.losses[0][1]):
            yield self._finding(trace, training, output)

    def _finding(self, trace: Trace, training: Training, output: ModelOutput) -> Finding:
        level = median(training.tail)
        classes = output.facts.shape[-1] if len(output.facts.shape) > 1 else 0
        guess = math.log(classes) if classes > 1 else 0.0
        diagnosis = SameForAll(
            path=output.path,
            rows=output.rows,
            level=level,
            classes=classes if guess and abs(level - guess) < NEAR * guess else None,
            spread=output.spread,
            input_spread=output.input_spread,
            seen_at=output.step,
        )
        return self.found(
            trace,
            diagnosis,
            severity="error",
            step=_since(trace, output),
            location=output.location,
            evidence=[loss_curve(training)],
        )


def _is_constant_by_design(training: Training, output: ModelOutput) -> bool:
    """Tell whether the model has no layers, only a few numbers of its own: nothing that could act on an input.

    So are the mean or the distribution of all targets fitted, to compare models with.
    """
    described = training.described
    return described is not None and all(
        "." not in name.removeprefix(f"{output.path}.") and len(shape) < A_LAYERS_DIMENSIONS
        for name, shape in zip(described.parameters, described.shapes, strict=True)
    )


def _since(trace: Trace, output: ModelOutput) -> int:
    steps = sorted({o.step for o in trace.of(ModelOutput) if o.path == output.path})
    return next((step for step in steps if constant_output(trace, step) is not None), output.step)
