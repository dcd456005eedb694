from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.events import OptimizerMade
from torchwhy.record.trace import Trace


class DecayInGradient(Diagnosis):
    """Adam adds its weight decay to the gradient; the fields are what was recorded, the texts derive from them."""

    optimizer: str
    weight_decay: float
    message = (
        "{optimizer} adds weight_decay={weight_decay:g} to the gradient, where it is scaled away"
    )
    advice = "use torch.optim.AdamW, which decays the weights themselves"

    def evidence(self) -> Iterator[Evidence]:
        """Yield the measured numbers."""
        yield Evidence(f"weight_decay is {self.weight_decay:g}", value=self.weight_decay)


class AdamWeightDecay(Detector):
    """Adam has a weight decay, which it applies to the gradient."""

    name = "adam-weight-decay"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for each such optimizer; a trace holds recorded events, and torch is not needed."""
        for made in trace.of(OptimizerMade):
            decay = made.defaults.get("weight_decay")
            if made.kind != "Adam" or not isinstance(decay, (int, float)) or not decay > 0:
                continue
            if made.defaults.get("decoupled_weight_decay"):  # then Adam does what AdamW does
                continue
            yield self.found(
                trace,
                DecayInGradient(optimizer=made.kind, weight_decay=float(decay)),
                severity="warning",
                step=None,
                location=made.location,
            )
