from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes, statements
from torchwhy.detect.fixes.values import data
from torchwhy.detect.views.crash.crash_evidence import sizes
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.crash.last_batch import (
    LastBatch,
    last_batch,
    place_of_fixed_size,
    tensor_of_fixed_size,
)
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class WorksForFullBatches(Diagnosis):
    """An expression works only for full batches, but the last batch is smaller."""

    expression: str
    batch: LastBatch
    rows_of: str  # a tensor with as many rows as the batch
    message = (
        "`{expression}` works only for batches of {batch.usual}, but the last batch has only {batch.rest} "
        "samples: {batch.samples} samples in batches of {batch.usual} leave {batch.rest}"
    )

    @property
    def remedies(self) -> tuple[str, ...]:
        by_batch = f"take the size from the batch, `{self.rows_of}.shape[0]`, instead of assuming {self.batch.usual}"
        if self.batch.from_loader:
            return by_batch, "give the DataLoader `drop_last=True` so that every batch is full"
        return by_batch, "stop the loop before the incomplete batch"

    def evidence(self) -> Iterator[Evidence]:
        batch = self.batch
        full = batch.samples // batch.usual
        yield Evidence(f"{batch.samples} samples = {full} × {batch.usual} + {batch.rest}")


class MadeForFullBatches(WorksForFullBatches):
    """A tensor has the size of a full batch, but the last batch is smaller."""

    tensor: str
    shape: Shape
    message = (
        "`{tensor}` ({size}) is made for batches of {batch.usual}, but the last batch has only {batch.rest} "
        "samples: {batch.samples} samples in batches of {batch.usual} leave {batch.rest}"
    )

    @property
    def size(self) -> str:
        """Return the shape of the tensor."""
        return sizes(self.shape)


class RaggedLastBatch(Detector):
    """The last batch is smaller than the others, but the code assumes a fixed batch size."""

    name = "ragged-last-batch"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            batch = last_batch(crash.event)
            if batch is not None:
                yield crash.finding(
                    self.name,
                    diagnosed(crash, batch),
                    evidence=crash.operand_evidence,
                    location=place_of_fixed_size(crash.event, batch),
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        place = finding.location
        match finding.diagnosis:
            case MadeForFullBatches(tensor=tensor, batch=batch, rows_of=rows):
                yield from shapes.sized_by_batch(
                    place, source, name=tensor, usual=batch.usual, rows_of=rows
                )
        yield from statements.any_batch_size(place, source)
        yield from data.loader_option(source, "drop_last")


def diagnosed(crash: CrashView, batch: LastBatch) -> WorksForFullBatches:
    """Return what assumes a full batch: a tensor of that size, or the failing expression."""
    ragged = (one.name for one in crash.event.operands if one.shape[:1] == [batch.rest])
    name = next(ragged, "x")
    rows = name if name.isidentifier() else "x"
    fixed = tensor_of_fixed_size(crash.event, batch)
    if fixed is None or place_of_fixed_size(crash.event, batch) is None:
        return WorksForFullBatches(expression=crash.expression, batch=batch, rows_of=rows)
    return MadeForFullBatches(
        expression=crash.expression, batch=batch, rows_of=rows, tensor=fixed.name, shape=fixed.shape
    )
