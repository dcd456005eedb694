from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.rules.message_kinds import IndexBounds, IndexRange
from torchwhy.detect.rules.torch_layers import EMBEDDINGS
from torchwhy.detect.views.crash.crash_evidence import of_layer
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.crash.indices import BadIndices, bad_indices
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Finding, Fix
from torchwhy.record.events import NamedTensor
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

INDEX_TYPES = ("int64", "int32", "int16", "int8", "uint8")


class IndexOutside(Diagnosis):
    """An index lies outside of what it selects from; torch does not say of what."""

    expression: str
    index: str
    message = "{expression} selects with {index} outside of its range"
    advice = "keep every index from 0 to the size minus 1"


class IndexOutsideDimension(IndexOutside):
    """An index lies outside of a dimension."""

    minimum: float | None
    maximum: float | None
    value: int
    dimension: int
    size: int
    message = (
        "{expression} selects with {index}{values}: {value} is outside of dimension {dimension}, "
        "which has size {size}"
    )

    @property
    def values(self) -> str:
        """Return the range of the indices."""
        return f" (values {self.minimum:g} to {self.maximum:g})" if self.minimum is not None else ""


class IndicesOutsideTable(Diagnosis):
    """Indices lie outside of the rows that a table has."""

    indices: str
    table: str | None  # the layer
    bad: BadIndices
    is_resized: bool  # by a change that went through, which gives the table a row for each index
    message = "{indices} holds {wrong}, but {holder} has {bad.size} rows, 0 to {bad.last}"

    @property
    def wrong(self) -> str:
        """Return the indices out of range."""
        return self.bad.words("index")

    @property
    def holder(self) -> str:
        """Return the table."""
        return self.table or "the table"

    @property
    def remedies(self) -> tuple[str, ...]:
        bad, told = self.bad, []
        if bad.maximum >= bad.size and not self.is_resized:
            told.append(
                f"make the table with at least {bad.maximum + 1} rows, or clip the indices to {bad.last}"
            )
        if bad.minimum < 0:
            told.append(
                f"give padding ({bad.minimum}) a row of its own: padding_idx takes a row from 0 up"
            )
        return tuple(told)


class IndexOutOfRange(Detector):
    """An index points outside of the table or tensor that it selects from."""

    name = "index-out-of-range"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if not crash.is_in_loader and isinstance(crash.said, IndexRange):
                yield self._finding(crash)

    def _finding(self, crash: CrashView) -> Finding:
        bad, index = bad_indices(crash.event), _index(crash)
        if bad is None:
            return crash.finding(
                self.name,
                outside(crash, index),
                evidence=[*crash.operand_evidence, *crash.walk_evidence],
            )
        layer, resized = crash.layer, crash.fixes("resize-table")
        diagnosis = IndicesOutsideTable(
            indices=index.name if index is not None else "an index",
            table=layer.path if layer is not None and layer.kind in EMBEDDINGS else None,
            bad=bad,
            is_resized=bool(resized),
        )
        return crash.finding(
            self.name,
            diagnosis,
            evidence=[
                *bad.evidence(crash.event),
                *of_layer(crash.layer),
                *crash.operand_evidence,
                *crash.walk_evidence,
            ],
            fixes=resized,
            sample=bad.sample(crash.event),
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case IndicesOutsideTable(is_resized=True, table=str(table), bad=bad):
                rows = bad.maximum + 1
                yield from shapes.more_rows(source, table=table, right=rows, wrong=bad.size)
        yield from shapes.honest_length(finding.location, source)


def outside(crash: CrashView, index: NamedTensor | None) -> IndexOutside:
    """Return which index is out of range, as far as torch tells it."""
    name = index.name if index is not None else "an index"
    match crash.said:
        case IndexBounds(index=value, dimension=dimension, size=size):
            return IndexOutsideDimension(
                expression=crash.expression,
                index=name,
                minimum=index.minimum if index is not None else None,
                maximum=index.maximum if index is not None else None,
                value=value,
                dimension=dimension,
                size=size,
            )
    return IndexOutside(expression=crash.expression, index=name)


def _index(crash: CrashView) -> NamedTensor | None:
    """Return the tensor of indices, by the program's name."""
    given = crash.layer_input
    if given.is_named:
        return given.tensor
    return next((tensor for tensor in crash.tensors if tensor.dtype in INDEX_TYPES), None)
