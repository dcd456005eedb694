from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchwhy.detect.base import Detector
from torchwhy.detect.views.graph.accumulation import backward_place
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.ranks.rank_events import GradientsReduced
from torchwhy.record.trace import Trace

FEWEST_LOOKS = 2
MEGABYTE = 1e6


class ReducedEachTime(Diagnosis):
    """Each of several backward passes before a step reduces all gradients."""

    backwards: int
    megabytes: float
    message = "each of the {backwards} backward passes of a step reduces the gradients over the ranks; once is enough"
    advice = (
        "make all but the last forward and backward pass of a step inside `with model.no_sync():`; the sums are the "
        "same but for rounding"
    )

    def evidence(self) -> Iterator[Evidence]:
        more = self.backwards - 1
        yield Evidence(
            f"a reduction sends {self.megabytes:.3g} MB of gradients, so {more * self.megabytes:.3g} MB more than "
            "needed in a step, and every backward pass waits for the slowest rank",
            value=more * self.megabytes,
        )


class MissingNoSync(Detector):
    """Gradient accumulation reduces gradients over the ranks in every backward pass."""

    name = "missing-no-sync"

    def scan(self, trace: Trace) -> Iterator[Finding]:  # noqa: ARG002 - told once for all ranks
        yield from ()

    def compare(self, traces: Sequence[Trace]) -> Iterator[Finding]:
        trace = traces[0]
        looks = trace.of(GradientsReduced)
        counts = {one.backwards for one in looks}
        is_each = all(one.reduced == one.backwards for one in looks)
        if len(looks) < FEWEST_LOOKS or len(counts) != 1 or not is_each:
            return
        diagnosis = ReducedEachTime(backwards=counts.pop(), megabytes=looks[0].bytes / MEGABYTE)
        place = backward_place(trace)
        yield self.found(trace, diagnosis, severity="note", step=looks[0].step, location=place)
