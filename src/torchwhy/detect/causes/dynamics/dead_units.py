from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
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

ENOUGH_SAMPLES = 8  # steps whose gradients were measured
LARGE_BIAS = 1.0  # usual layers give numbers of about this size, and start with biases of 0


class NoUnitFires(Diagnosis):
    """Rectifiers that give 0 on all samples, and an output that is the same for every sample."""

    dead_layers: int
    layers: int
    units: int
    samples: int
    look: int
    loss: float
    message = (
        "no unit fires in {dead_layers} of {layers} ReLU layers: {every} 0 on all {samples} samples "
        "at step {look}, and the output is the same for every sample{ending}"
    )
    advice = "find what pushed the units below zero (rate, bias, inputs); leaky_relu keeps a gradient there"

    @property
    def every(self) -> str:
        """Return the subject: all units, or the only one."""
        return f"all {self.units} units give" if self.units > 1 else "its only unit gives"

    @property
    def ending(self) -> str:
        """Return what the loss does; a loss of 0 looks like success."""
        if self.loss == 0:
            return ", so the loss 0.0 is not learning"
        return f"; the loss rests at {self.loss:.3g}"


class DeadUnits(Detector):
    """Every unit of a ReLU layer gives 0 on every sample, so nothing before it can learn any more."""

    name = "dead-units"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if trace.alarms:
            return
        look = (
            last_observed_step(trace) or 0
        )  # a run that gave no reason for a second look has its first one
        dead = dead_layers(trace, look)
        training = next((t for t in trainings(trace) if t.alone), None)
        if not dead or training is None or not _does_harm(trace, training, look):
            return
        yield self._finding(trace, training, dead)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from layers.leaky(finding.location, source)

    def _finding(self, trace: Trace, training: Training, dead: list[Activation]) -> Finding:
        first, look = dead[0], dead[0].step
        since = _since(trace, first)
        bias = _large_bias(trace, first.units) if since == 0 else None
        diagnosis = NoUnitFires(
            dead_layers=len(dead),
            layers=len(activations(trace, look, RECTIFIERS)),
            units=sum(layer.units for layer in dead),
            samples=first.shape[0],
            look=look,
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
                        f"{_called(a)}: {a.dead} of {a.units} units are 0 on all samples",
                        step=a.step,
                    )
                    for a in dead[:4]
                ),
                *((_filled(bias),) if bias is not None else ()),
                loss_curve(training),
            ),
        )


def _large_bias(trace: Trace, units: int) -> ParameterSeen | None:
    """Return the bias of so many units that the program filled with a large number and that never gets a gradient."""
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
        f"every entry of {bias.name} was set to the size {size:g}{by}",
        value=size,
        location=bias.made_at,
    )


def _called(layer: Activation) -> str:
    """Return the expression of an activation, which tells two of one module apart; or the module's path."""
    expression = layer.place.expression if layer.place is not None else None
    return short(expression) if expression else layer.module or "activation"


def _does_harm(trace: Trace, training: Training, look: int) -> bool:
    """Tell whether the dead layer leaves a constant, or a loss that does not fall."""
    if look == 0:
        is_constant = constant_output(trace, look) is not None
        return is_constant and (training.never_learnt or _never_reached(trace))
    if constant_output(trace, look) is not None:
        return training.rests or training.losses[-1][1] == 0 or training.stays_grown
    return not training_outputs(trace, look) and training.never_learnt


def _never_reached(trace: Trace) -> bool:
    """Tell whether weights whose gradient was 0 in the first step never got another one, in all samples of the run.

    What lies behind the dead layer still learns the mean of the targets, so that the loss may fall.
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
    """Return the first step at which this layer was seen dead."""
    same = [
        a.step
        for a in trace.of(Activation)
        if (a.module, a.location) == (layer.module, layer.location) and a.dead == a.units
    ]
    return min(same, default=layer.step)
