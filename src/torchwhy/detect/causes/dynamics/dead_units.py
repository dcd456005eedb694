from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LAYERS
from torchwhy.detect.fixes.models import activations as layers
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.detect.views.training.network_facts import (
    RECTIFIERS,
    activations,
    constant_output,
    dead_layers,
    last_observed_step,
    training_outputs,
)
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Weights
from torchwhy.record.learning import Activation, ParameterCensus, ParameterSeen
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

ENOUGH_SAMPLES = 8  # With fewer measured steps, a gradient of 0 throughout may be chance.
LARGE_BIAS = (
    1.0  # Layers usually output values of about this size and start with biases of about 0.
)


class NoUnitFires(Diagnosis):
    """ReLU layers output 0 for all samples, and the model's output is the same for every sample."""

    dead_layers: int
    layers: int
    units: int
    samples: int
    seen_at: int
    loss: float
    message = (
        "no unit fires in {dead_layers} of {layers} ReLU layers: {every} 0 for all {samples} samples "
        "at step {seen_at}, and the model's output is the same for every sample{ending}"
    )
    advice = "find what pushed the units below zero (learning rate, bias, inputs); leaky_relu keeps a gradient there"

    @property
    def every(self) -> str:
        """Return the subject and its verb: all units, or the only one."""
        return f"all {self.units} units output" if self.units > 1 else "its only unit outputs"

    @property
    def ending(self) -> str:
        """Return where the loss is; a loss of 0 only looks like success."""
        if self.loss == 0:
            return ", so the loss of 0.0 does not show learning"
        return f"; the loss has plateaued at {self.loss:.3g}"


class DeadUnits(Detector):
    """Every unit of a ReLU layer outputs 0 for every sample, so the layers before it can no longer learn."""

    name = "dead-units"
    question = LAYERS

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if trace.alarms:
            return
        step = last_observed_step(trace) or 0
        dead = dead_layers(trace, step)
        training = next((t for t in trainings(trace) if t.alone), None)
        if not dead or training is None or not _does_harm(trace, training, step):
            return
        yield self._finding(trace, training, dead)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from layers.leaky(finding.location, source)

    def _finding(self, trace: Trace, training: Training, dead: list[Activation]) -> Finding:
        first = dead[0]
        since = _since(trace, first)
        bias = _large_bias(trace, first.units) if since == 0 else None
        diagnosis = NoUnitFires(
            dead_layers=len(dead),
            layers=len(activations(trace, first.step, RECTIFIERS)),
            units=sum(layer.units for layer in dead),
            samples=first.shape[0],
            seen_at=first.step,
            loss=training.losses[-1][1],
        )
        return self.found(
            trace,
            diagnosis,
            severity="error",
            step=since,
            location=(bias.made_at if bias is not None else None) or first.place,
            evidence=(
                *(
                    Evidence(
                        f"{_called(a)}: {a.dead} of {a.units} units are 0 for all samples",
                        step=a.step,
                    )
                    for a in dead[:4]
                ),
                *((_filled(bias),) if bias is not None else ()),
                loss_curve(training),
            ),
        )


def _large_bias(trace: Trace, units: int) -> ParameterSeen | None:
    """Return the bias of this many units that the program filled with a large number and that has no gradient."""
    for census in trace.of(ParameterCensus):
        for one in census.parameters:
            is_filled = one.name.endswith("bias") and one.written_by == "constant"
            is_theirs = one.shape == [units] and one.gradient != "nonzero"
            if is_filled and is_theirs and decode(one.rms) > LARGE_BIAS:
                return one
    return None


def _filled(bias: ParameterSeen) -> Evidence:
    how = bias.made_at.expression if bias.made_at is not None else None
    by = f" by {short(how)}" if how else ""
    size = decode(bias.rms)
    return Evidence(
        f"every entry of {bias.name} was set to a size of {size:g}{by}",
        value=size,
        location=bias.made_at,
    )


def _called(layer: Activation) -> str:
    """Return the activation's expression, which distinguishes two of one module, or else the module's path."""
    expression = layer.place.expression if layer.place is not None else None
    return short(expression) if expression else layer.module or "activation"


def _does_harm(trace: Trace, training: Training, step: int) -> bool:
    """Tell whether the dead layer makes the output constant, or keeps the loss from falling."""
    if step == 0:
        is_constant = constant_output(trace, step) is not None
        return is_constant and (training.never_learnt or _never_reached(trace))
    if constant_output(trace, step) is not None:
        return training.plateaued or training.losses[-1][1] == 0 or training.stays_grown
    return not training_outputs(trace, step) and training.never_learnt


def _never_reached(trace: Trace) -> bool:
    """Tell whether the weights whose gradient was 0 at the first step had a gradient of 0 at every measured step.

    The layers after the dead one still learn the mean of the targets, so the loss may fall all the same.
    """
    names = {
        one.name
        for census in trace.of(ParameterCensus)
        for one in census.parameters
        if one.in_optimizer and one.gradient == "zero"
    }
    seen = [
        decode(size)
        for sample in trace.of(Weights)
        for name, size in zip(sample.names, sample.gradient_rms, strict=True)
        if name in names
    ]
    return len(seen) >= ENOUGH_SAMPLES * len(names) > 0 and not any(seen)


def _since(trace: Trace, layer: Activation) -> int:
    """Return the first observed step at which this layer is dead."""
    same = [
        a.step
        for a in trace.of(Activation)
        if (a.module, a.location) == (layer.module, layer.location) and a.dead == a.units
    ]
    return min(same, default=layer.step)
