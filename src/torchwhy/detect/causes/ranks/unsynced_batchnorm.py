from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training.wrappers import only_wrapper
from torchwhy.detect.views.crash.batch_parts import shape_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.events import ModuleCalled
from torchwhy.record.ranks.rank_events import GradientsShared
from torchwhy.record.trace import Trace

KINDS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d")
MOST_ROWS = 4  # per rank; the paper on group normalisation (Wu and He, 2018) sees errors grow from 8 rows on down


class OwnStatistics(Diagnosis):
    """Batch normalisation over the few rows of one rank."""

    layers: int
    rows: int
    ranks: int
    message = (
        "batch normalisation takes mean and variance from the {rows} rows of one rank, although {ranks} ranks train "
        "together on {all_rows}"
    )
    advice = (
        "convert the model before wrapping it: `nn.SyncBatchNorm.convert_sync_batchnorm(model)` (on GPUs), or use a "
        "normalisation that needs no batch, such as GroupNorm"
    )

    @property
    def all_rows(self) -> int:
        """Return the rows of all ranks."""
        return self.rows * self.ranks

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"none of the {self.layers} layers in train mode gets more than {self.rows} rows, and each rank keeps "
            "running statistics of its own"
        )


class UnsyncedBatchnorm(Detector):
    """Each rank normalises over its own few rows."""

    name = "unsynced-batchnorm"

    def scan(self, trace: Trace) -> Iterator[Finding]:  # noqa: ARG002 - told once for all ranks
        yield from ()

    def compare(self, traces: Sequence[Trace]) -> Iterator[Finding]:
        trace = traces[0]
        group = next((one for one in trace.of(GradientsShared) if one.own_norms), None)
        calls = [one for one in trace.of(ModuleCalled) if one.kind in KINDS]
        rows = [_rows(one) for one in calls]
        if group is None or not rows or None in rows:
            return
        most = max(one for one in rows if one is not None)
        if most > MOST_ROWS:
            return
        diagnosis = OwnStatistics(layers=group.own_norms, rows=most, ranks=len(group.ranks))
        place = only_wrapper(trace) or calls[0].location
        yield self.found(trace, diagnosis, severity="note", step=0, location=place)


def _rows(call: ModuleCalled) -> int | None:
    """Return the rows that went into a layer."""
    shape = shape_of(call.inputs[0]) if call.inputs else None
    return shape[0] if shape else None
