from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.wiring.detached_graph import CHECKPOINT
from torchwhy.detect.checks.standing_questions import PARAMETERS
from torchwhy.detect.fixes.models import checkpoints
from torchwhy.detect.views.parameters.trained_parameters import first_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Weights
from torchwhy.record.learning import GraphCut
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

MOST_NAMED = 4


class CheckpointCuts(Diagnosis):
    """A reentrant checkpoint gets no input that requires a gradient, so nothing inside of it gets one."""

    names: list[str]
    is_whole: bool
    seen_at: int
    message = (
        "this checkpoint gives no gradient to {parameters}: a reentrant checkpoint runs its part under `no_grad`, "
        "and passes gradients on only if an input requires one"
    )
    advice = "use `use_reentrant=False`"

    @property
    def parameters(self) -> str:
        """Return which parameters get no gradient."""
        if self.is_whole:
            return "any parameter of the optimizer"
        return first_of(self.names, most=MOST_NAMED)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "used in the forward pass and held by the optimizer, but without a gradient: "
            f"{first_of(self.names, most=MOST_NAMED)}",
            value=float(len(self.names)),
            step=self.seen_at,
        )


class ReentrantCheckpoint(Detector):
    """A reentrant activation checkpoint whose inputs need no gradient cuts the graph."""

    name = "reentrant-checkpoint"
    question = PARAMETERS
    needs_all = ("parameters",)
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for cut in trace.of(GraphCut):
            names = [name for name in cut.parameters if not _gets_one_later(trace, cut, name)]
            if cut.how == CHECKPOINT and names:
                diagnosis = CheckpointCuts(names=names, is_whole=cut.whole, seen_at=cut.step)
                yield self.found(
                    trace,
                    diagnosis,
                    severity="error" if cut.whole else "warning",
                    step=cut.step,
                    location=cut.location,
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:  # noqa: ARG002 (every checkpoint of the file)
        yield from checkpoints.not_reentrant(source)


def _gets_one_later(trace: Trace, cut: GraphCut, name: str) -> bool:
    """Tell whether a parameter has a gradient at a later step, when the part before it trains."""
    return any(
        decode(sample.gradient_rms[sample.names.index(name)]) > 0
        for sample in trace.of(Weights)
        if sample.optimizer == cut.optimizer and name in sample.names
    )
