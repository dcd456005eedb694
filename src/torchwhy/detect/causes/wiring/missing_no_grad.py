from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.parameters.trained_parameters import training_modes
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import ForwardModes
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

ENOUGH_FORWARDS = 3  # a single forward is a sanity check


class MissingNoGrad(Detector):
    """A model is evaluated with gradients on."""

    name = "missing-no-grad"
    symptom = "evaluation"
    needs = frozenset({"modes"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for mode in trace.of(ForwardModes):
            if not mode.grad or mode.backwards or mode.count < ENOUGH_FORWARDS:
                continue
            if training_modes(trace, mode.path):
                kind = "train" if mode.training else "eval"
                yield Finding(
                    detector=self.name,
                    severity="note",
                    message=(
                        f"`{mode.path}` runs here {mode.count} times with gradients "
                        "recorded, and no backward pass uses them"
                    ),
                    step=mode.first_step,
                    rank=trace.rank,
                    location=mode.location,
                    evidence=(
                        Evidence(
                            f"{mode.count} forward passes in {kind} mode, none of them in the graph of a loss",
                            value=float(mode.count),
                            step=mode.first_step,
                        ),
                    ),
                    fixes=(
                        Fix("wrap the evaluation in `with torch.no_grad():`", safety="show-only"),
                    ),
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.without_graph(finding.location, source)
