from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LAYERS
from torchwhy.detect.views.training.network_facts import (
    SQUASHERS,
    activations,
    last_observed_step,
    training_outputs,
)
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.learning import Activation
from torchwhy.record.trace import Trace

SATURATED = (
    0.9  # Share of a layer's values within 1e-4 of its limits, where the slope is below 1e-4.
)


class LayerSaturated(Diagnosis):
    """Sigmoid or tanh layers sit at their limits, and the loss does not fall."""

    op: str
    share: float
    flat_layers: int
    layers: int
    first_loss: float
    message = (
        "{share:.0%} of this {op} layer sits at its limits, where the gradient is about 0 "
        "({flat_layers} of {layers} such layers do); the loss does not fall from {first_loss:.3g}"
    )
    advice = "bring the layer's input to about −2 … 2: use smaller weights, scaled inputs, or a normalisation before it"


class SaturatedActivations(Detector):
    """Almost all values of a sigmoid or tanh layer sit at its limits, where the gradient is about 0."""

    name = "saturated-activations"
    question = LAYERS

    def scan(self, trace: Trace) -> Iterator[Finding]:
        step = last_observed_step(trace)
        if step is None or trace.alarms:
            return
        training = next((t for t in trainings(trace) if t.never_learnt), None)
        hidden = _hidden(trace, step)
        flat = [a for a in hidden if a.saturated >= SATURATED]
        if training is not None and flat:
            yield self._finding(trace, training, flat, len(hidden))

    def _finding(
        self, trace: Trace, training: Training, flat: list[Activation], seen: int
    ) -> Finding:
        first = flat[0]
        start = [a for a in trace.of(Activation) if a.step == 0 and a.location == first.location]
        since = 0 if start and start[0].saturated >= SATURATED else first.step
        diagnosis = LayerSaturated(
            op=first.op,
            share=first.saturated,
            flat_layers=len(flat),
            layers=seen,
            first_loss=training.values[0],
        )
        return self.found(
            trace,
            diagnosis,
            severity="error",
            step=since,
            location=first.place,
            evidence=(
                *(
                    Evidence(
                        f"saturated share of {a.module or a.op}", value=a.saturated, step=a.step
                    )
                    for a in flat[:4]
                ),
                loss_curve(training),
            ),
        )


def _hidden(trace: Trace, step: int) -> list[Activation]:
    """Return the sigmoid and tanh activations of one step that are not the model's own output."""
    outputs = [o.facts.shape for o in training_outputs(trace, step)]
    seen = activations(trace, step, SQUASHERS)
    return [a for a in seen if a is not seen[-1] or a.shape not in outputs]
