from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import EVALUATION_MODE
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.training.model_modes import training_modes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import ForwardModes
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

ENOUGH_FORWARDS = 3  # One or two forward passes are a sanity check.


class UnusedGraphs(Diagnosis):
    """A model runs with gradients enabled, and no backward pass uses its graphs."""

    path: str
    forwards: int
    training: bool
    first_step: int
    message = "`{path}` runs here {forwards} times and records graphs that no backward pass uses"
    advice = "wrap the evaluation in `with torch.no_grad():`"

    def evidence(self) -> Iterator[Evidence]:
        mode = "train" if self.training else "eval"
        yield Evidence(
            f"{self.forwards} forward passes in {mode} mode, none of them in the graph of a loss",
            value=float(self.forwards),
            step=self.first_step,
        )


class MissingNoGrad(Detector):
    """A model is evaluated with gradients enabled."""

    name = "missing-no-grad"
    question = EVALUATION_MODE
    symptom = "evaluation"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for mode in trace.of(ForwardModes):
            if not mode.grad or mode.backwards or mode.count < ENOUGH_FORWARDS:
                continue
            if training_modes(trace, mode.path):
                diagnosis = UnusedGraphs(
                    path=mode.path,
                    forwards=mode.count,
                    training=mode.training,
                    first_step=mode.first_step,
                )
                yield self.found(
                    trace,
                    diagnosis,
                    severity="note",
                    step=mode.first_step,
                    location=mode.location,
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.without_graph(finding.location, source)
