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
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import NamedTensor
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

INDEX_TYPES = ("int64", "int32", "int16", "int8", "uint8")


class IndexOutside(Diagnosis):
    """An index is out of range; torch does not name the range."""

    expression: str
    index: str
    message = "{expression} selects with {index}, which is out of range"
    advice = "keep every index between 0 and the size minus 1"


class IndexOutsideDimension(IndexOutside):
    """An index is outside the dimension that it selects from."""

    minimum: float | None
    maximum: float | None
    value: int
    dimension: int
    size: int
    message = (
        "{expression} selects with {index}{values}: {value} is out of range for dimension {dimension}, "
        "which has size {size}"
    )

    @property
    def values(self) -> str:
        """Return the range of the indices in words."""
        return f" (values {self.minimum:g} to {self.maximum:g})" if self.minimum is not None else ""


class IndicesOutsideTable(Diagnosis):
    """Indices are outside the rows of a table."""

    indices: str
    table: str | None  # the embedding layer
    bad: BadIndices
    is_resized: bool  # a tried change that worked gives the table a row for each index
    rows: int  # the rows that the table needs for all indices that are known
    is_of_all_data: bool  # `rows` is for the whole data, not only for this batch
    message = "{indices} contains {wrong}, but {holder} has {bad.size} rows, 0 to {bad.last}"

    @property
    def wrong(self) -> str:
        """Return the indices out of range in words."""
        return self.bad.words("index")

    @property
    def holder(self) -> str:
        """Return the table."""
        return self.table or "the table"

    @property
    def remedies(self) -> tuple[str, ...]:
        bad, advice = self.bad, []
        if bad.maximum >= bad.size and not self.is_resized:
            advice.append(
                f"construct the table with at least {self.rows} rows, or map the indices to rows that it has"
            )
        if bad.counts_from_one:
            advice.append("subtract 1 from them first, if they count from 1")
        if bad.minimum < 0:
            advice.append(
                f"give padding ({bad.minimum}) its own row, and pass that row as `padding_idx`"
            )
        return tuple(advice)

    def about_rows(self) -> Iterator[Evidence]:
        """Yield the largest known index, and whether larger ones may come."""
        largest = self.rows - 1
        if self.is_of_all_data:
            yield Evidence(
                f"the largest index in the whole data is {largest}", value=float(largest)
            )
        elif self.is_resized:
            yield Evidence(
                f"the largest index so far is {largest}; later batches may hold larger ones",
                value=float(largest),
            )


class IndexOutOfRange(Detector):
    """An index is outside the table or tensor that it selects from."""

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
        tried = crash.working("resize-table")
        diagnosis = IndicesOutsideTable(
            indices=index.name if index is not None else "an index",
            table=layer.path if layer is not None and layer.kind in EMBEDDINGS else None,
            bad=bad,
            is_resized=bool(resized),
            rows=max([bad.maximum + 1, *(one.right or 0 for one in tried)]),
            is_of_all_data=any(not one.at_least for one in tried),
        )
        return crash.finding(
            self.name,
            diagnosis,
            evidence=[
                *bad.evidence(crash.event),
                *diagnosis.about_rows(),
                *of_layer(crash.layer),
                *crash.operand_evidence,
                *crash.walk_evidence,
            ],
            fixes=resized,
            sample=bad.sample(crash.event),
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case IndicesOutsideTable(is_resized=True, table=str(table), bad=bad, rows=rows):
                yield from shapes.more_rows(source, table=table, right=rows, wrong=bad.size)
        yield from shapes.honest_length(finding.location, source)


def outside(crash: CrashView, index: NamedTensor | None) -> IndexOutside:
    """Return the index that is out of range, as far as the message of torch names it."""
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
    """Return the tensor of indices under the name that the program gives it."""
    given = crash.layer_input
    if given.is_named:
        return given.tensor
    return next((tensor for tensor in crash.tensors if tensor.dtype in INDEX_TYPES), None)
