from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LAYERS
from torchwhy.detect.views.rehearsed.constant_outputs import constant_tried
from torchwhy.detect.views.training.network_facts import constant_output, last_observed_step
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.learning import ModelOutput
from torchwhy.record.numbers import Real, decode
from torchwhy.record.trace import Trace

LEARNT = 1e-3  # If the loss fell to this share of its first value, a constant is the right answer.
NEAR = 0.02  # A loss within this relative distance of ln C is that of guessing among C classes.

A_LAYERS_DIMENSIONS = (
    2  # The weight of every layer that acts on an input has two or more dimensions.
)


class SameForAll(Diagnosis):
    """The output is the same for all samples, and the loss has plateaued."""

    path: str
    rows: int
    level: float
    classes: int | None  # Set if the loss is that of guessing among this many classes.
    spread: Real
    input_spread: Real
    seen_at: int
    message = (
        "{path} returns the same output for all {rows} samples, whatever its input; "
        "the loss has plateaued at {level:.4g}{guess}"
    )
    advice = "follow the input through the layers: print `h.std(dim=0)` after each layer to find where it becomes 0"

    @property
    def guess(self) -> str:
        """Return `, which is ln 10: guessing`, or nothing if the loss is not that of guessing."""
        return f", which is ln {self.classes}: guessing" if self.classes is not None else ""

    def evidence(self) -> Iterator[Evidence]:
        claim = f"two rows of the output differ by at most {decode(self.spread):.2g} of its size"
        yield Evidence(claim, value=self.spread)
        claim = f"two rows of the input differ by up to {decode(self.input_spread):.2g} of its size"
        yield Evidence(claim, value=self.input_spread, step=self.seen_at)


class ConstantIsBest(Diagnosis):
    """Nothing in a loss that compares outputs with each other keeps them apart."""

    constant: float
    start: float
    trained: float
    updates: int
    compared: int
    message = (
        "nothing in this loss keeps the outputs of different samples apart: the same output for all of them gives "
        "{constant:.3g}, its lowest value"
    )
    advice = (
        "compare with other samples, too (negatives, as in a contrastive loss), or stop the gradient of one side "
        "and predict it from the other (`.detach()`)"
    )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"training a copy for {self.updates} updates took the loss of other batches from {self.start:.3g} to "
            f"{self.trained:.3g}"
        )


class CollapsedOutput(Detector):
    """The model returns the same output for every sample, and the loss plateaus at what a constant can reach."""

    name = "collapsed-output"
    question = LAYERS

    def scan(self, trace: Trace) -> Iterator[Finding]:
        tried = constant_tried(trace)
        if tried is not None and tried.is_best:
            diagnosis = ConstantIsBest(
                constant=tried.constant,
                start=tried.start,
                trained=tried.trained,
                updates=tried.updates,
                compared=tried.compared,
            )
            yield self.found(
                trace,
                diagnosis,
                severity="warning",
                step=0,
                location=tried.compares,
                certainty="replayed",
            )
            return
        yield from self._collapsed(trace)

    def _collapsed(self, trace: Trace) -> Iterator[Finding]:
        step = last_observed_step(trace)
        if step is None or trace.alarms:
            return
        output = constant_output(trace, step)
        training = next((t for t in trainings(trace) if t.alone and t.plateaued), None)
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
    """Tell whether the model has no layers, only a few parameters of its own that cannot act on an input.

    Baselines that fit the mean or the distribution of all targets look like this.
    """
    described = training.described
    return described is not None and all(
        "." not in name.removeprefix(f"{output.path}.") and len(shape) < A_LAYERS_DIMENSIONS
        for name, shape in zip(described.parameters, described.shapes, strict=True)
    )


def _since(trace: Trace, output: ModelOutput) -> int:
    steps = sorted({o.step for o in trace.of(ModelOutput) if o.path == output.path})
    return next((step for step in steps if constant_output(trace, step) is not None), output.step)
