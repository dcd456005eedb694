from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes, statements
from torchwhy.detect.fixes.values import data
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    expression_of,
    finding_of,
    idea,
    operand_evidence,
    size,
)
from torchwhy.detect.views.crash.last_batch import (
    LastBatch,
    last_batch,
    place_of_fixed_size,
    tensor_of_fixed_size,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class RaggedLastBatch(Detector):
    """The last batch is smaller than the others, and the code assumes a fixed batch size."""

    name = "ragged-last-batch"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            batch = last_batch(crash)
            if batch is not None:
                yield finding_of(
                    trace,
                    crash,
                    detector=self.name,
                    message=_message(crash, batch),
                    evidence=_evidence(crash, batch),
                    location=place_of_fixed_size(crash, batch),
                    fixes=_fixes(crash, batch),
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from shapes.sized_by_batch(finding, source)
        yield from statements.any_batch_size(finding, source)
        yield from data.loader_option(source, "drop_last")


def _message(crash: Crash, batch: LastBatch) -> str:
    fixed, place = tensor_of_fixed_size(crash, batch), place_of_fixed_size(crash, batch)
    left = f"{batch.samples} samples in batches of {batch.usual} leave {batch.rest}"
    if fixed is not None and place is not None:
        return (
            f"`{fixed.name}` ({size(fixed)}) is made for batches of {batch.usual}, but the last batch has only "
            f"{batch.rest} samples: {left}"
        )
    return (
        f"`{expression_of(crash)}` works for batches of {batch.usual}, but the last batch has only {batch.rest} "
        f"samples: {left}"
    )


def _evidence(crash: Crash, batch: LastBatch) -> list[Evidence]:
    full = batch.samples // batch.usual
    return [
        Evidence(f"{batch.samples} samples = {full} × {batch.usual} + {batch.rest}"),
        *operand_evidence(crash),
    ]


def _fixes(crash: Crash, batch: LastBatch) -> list[Fix]:
    tensors = [tensor.name for tensor in crash.operands if tensor.shape[:1] == [batch.rest]]
    source = tensors[0] if tensors and tensors[0].isidentifier() else "x"
    by_batch = idea(
        f"take the size from the batch, `{source}.shape[0]`, where {batch.usual} is assumed"
    )
    if batch.from_loader:
        return [
            by_batch,
            idea("give the DataLoader `drop_last=True`, so that every batch is full"),
        ]
    return [by_batch, idea("stop the loop before the incomplete batch")]
