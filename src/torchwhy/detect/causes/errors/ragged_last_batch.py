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
        if self.batch.from_loader:
            return (
                self.by_batch,
                "give the DataLoader `drop_last=True` so that every batch is full",
            )
        return self.by_batch, "stop the loop before the incomplete batch"

    @property
    def by_batch(self) -> str:
        """Return how the expression can follow the size of the batch."""
        size = f", `{self.rows_of}.shape[0]`," if self.rows_of else ""
        return f"take the size from the batch{size} instead of assuming {self.batch.usual}"

    def evidence(self) -> Iterator[Evidence]:
        batch = self.batch
        full = batch.samples // batch.usual
        yield Evidence(f"{batch.samples} samples = {full} × {batch.usual} + {batch.rest}")


class MadeForFullBatches(WorksForFullBatches):
    """A tensor has the size of a full batch, but the last batch is smaller."""

    tensor: str
    shape: Shape
    is_made_first: bool  # before the batch is known
    message = (
        "`{tensor}` ({size}) is made for batches of {batch.usual}, but the last batch has only {batch.rest} "
        "samples: {batch.samples} samples in batches of {batch.usual} leave {batch.rest}"
    )

    @property
    def size(self) -> str:
        """Return the shape of the tensor."""
        return sizes(self.shape)

    @property
    def by_batch(self) -> str:
        """Return how the tensor can follow the size of the batch."""
        if not self.is_made_first or not self.rows_of:
            return super().by_batch
        return f"use as much of it as the batch needs: `{self.part}`"

    @property
    def part(self) -> str:
        """Return the part of the tensor that the batch needs, as an expression."""
        before = ":, " * self.shape.index(self.batch.usual)
        return f"{self.tensor}[{before}: len({self.rows_of})]"


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
            case MadeForFullBatches(tensor=tensor, batch=batch, rows_of=rows) as made if rows:
                yield from shapes.sized_by_batch(
                    place, source, name=tensor, usual=batch.usual, rows_of=rows, part=made.part
                )
        yield from statements.any_batch_size(place, source)
        yield from data.loader_option(source, "drop_last")


def diagnosed(crash: CrashView, batch: LastBatch) -> WorksForFullBatches:
    """Return what assumes a full batch: a tensor of that size, or the failing expression."""
    ragged = [one for one in crash.event.operands if one.shape[:1] == [batch.rest]]
    rows = next((one for one in ragged if one.name.isidentifier()), None)
    rows_of = rows.name if rows is not None else ""
    fixed = tensor_of_fixed_size(crash.event, batch)
    place = place_of_fixed_size(crash.event, batch)
    if fixed is None or place is None:
        return WorksForFullBatches(expression=crash.expression, batch=batch, rows_of=rows_of)
    made = rows.made_by if rows is not None else None
    return MadeForFullBatches(
        expression=crash.expression,
        batch=batch,
        rows_of=rows_of,
        tensor=fixed.name,
        shape=fixed.shape,
        is_made_first=made is not None and made.file == place.file and made.line > place.line,
    )
