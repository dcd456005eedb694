from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.views.crash.crash_facts import (
    at,
    crashes,
    expression_of,
    finding_of,
    fixes_of,
    idea,
    is_in_loader,
    layer_input,
    layer_of,
    layer_words,
    operand_evidence,
    says,
    walk_evidence,
)
from torchwhy.detect.views.crash.indices import bad_indices
from torchwhy.finding import Evidence, Finding, Fix, Sample
from torchwhy.record.events import Crash, NamedTensor
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

TABLE = r"index out of range in self"
BOUNDS = r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)"
PATTERNS = (
    TABLE,
    BOUNDS,
    r"takes value (-?\d+) which is not in the valid range",
    r"out of range: tried to access index (-?\d+) on a tensor of (\d+) elements",
    r"index out of bounds",
    r"indices? .* out of (?:bounds|range)",
)
INDEX_TYPES = ("int64", "int32", "int16", "int8", "uint8")


class IndexOutOfRange(Detector):
    """An index points outside of the table or tensor that it selects from."""

    name = "index-out-of-range"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if not is_in_loader(crash) and any(says(crash, pattern) for pattern in PATTERNS):
                yield _judge(trace, crash)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from shapes.more_rows(finding, source)
        yield from shapes.honest_length(finding, source)


def _judge(trace: Trace, crash: Crash) -> Finding:
    layer, bad = layer_of(crash), bad_indices(crash)
    index = _index(crash)
    name = index.name if index is not None else "an index"
    evidence = []
    if bad is not None:
        table = layer.path if layer is not None and "Embedding" in layer.kind else "the table"
        message = f"{name} holds {bad.words('index')}, but {table} has {bad.size} rows, 0 to {bad.size - 1}"
        evidence = bad.evidence(crash)
        if layer is not None and layer.made_at is not None:
            evidence.append(Evidence(f"{layer_words(layer)}{at(layer.made_at)}"))
    else:
        message = f"{expression_of(crash)} selects with {name}{_bounds(crash, index)}"
    return finding_of(
        trace,
        crash,
        detector=IndexOutOfRange.name,
        message=message,
        evidence=[*evidence, *operand_evidence(crash), *walk_evidence(crash)],
        fixes=_fixes(crash),
        sample=Sample(bad.positions[0], bad.dataset_index(crash))
        if bad is not None and bad.positions
        else None,
    )


def _index(crash: Crash) -> NamedTensor | None:
    """Return the tensor of indices, by the program's name."""
    _, given = layer_input(crash)
    if given is not None and given in crash.operands:
        return given
    whole = [tensor for tensor in (*crash.operands, *crash.inputs) if tensor.dtype in INDEX_TYPES]
    return whole[0] if whole else None


def _bounds(crash: Crash, index: NamedTensor | None) -> str:
    found = says(crash, BOUNDS)
    if found is None:
        return " outside of its range"
    largest = (
        f" (values {index.minimum:g} to {index.maximum:g})"
        if index is not None and index.minimum is not None
        else ""
    )
    return f"{largest}: {found[1]} is outside of dimension {found[2]}, which has size {found[3]}"


def _fixes(crash: Crash) -> list[Fix]:
    bad = bad_indices(crash)
    if bad is None:
        return [idea("keep every index from 0 to the size minus 1")]
    ideas = fixes_of(crash, "resize-table")
    if bad.maximum >= bad.size and not ideas:
        ideas.append(
            idea(
                f"make the table with at least {bad.maximum + 1} rows, or clip the indices to {bad.size - 1}"
            )
        )
    if bad.minimum < 0:
        ideas.append(
            idea(
                f"give padding ({bad.minimum}) a row of its own: padding_idx takes a row from 0 up"
            )
        )
    return ideas
