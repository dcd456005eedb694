from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    expression_of,
    finding_of,
    idea,
    operand_evidence,
    says,
    size,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash, NamedTensor
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

IMPLICIT = r"grad can be implicitly created only for (?:scalar|real scalar) outputs"
TORCHS_OWN = (
    "self",
    "tensors",
    "tensors[0]",
)  # names in torch's frames, where the program's source is not known


class NonScalarBackward(Detector):
    """`backward()` was called on a tensor with more than one element."""

    name = "non-scalar-backward"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if says(crash, IMPLICIT):
                loss = _loss(crash)
                yield finding_of(
                    trace,
                    crash,
                    detector=self.name,
                    message=_message(crash, loss),
                    evidence=[*_made(loss), *operand_evidence(crash)],
                    fixes=[
                        idea(f"reduce it to one number: `{_called(loss)}.mean().backward()`"),
                        idea('if the criterion was made with `reduction="none"`, leave that out'),
                    ],
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.scalar_loss(finding, source)


def _loss(crash: Crash) -> NamedTensor | None:
    many = [
        tensor
        for tensor in (*crash.operands, *crash.inputs)
        if tensor.shape and tensor.graph is not None
    ]
    return many[0] if many else None


def _message(crash: Crash, loss: NamedTensor | None) -> str:
    if loss is None:
        return (
            f"`{expression_of(crash)}` is a backward pass from a tensor with more than one element"
        )
    count = 1
    for length in loss.shape:
        count *= length
    name = "the loss" if loss.name in TORCHS_OWN else f"`{loss.name}`"
    return f"{name} has {count} elements ({size(loss)}), and a backward pass starts from one number"


def _called(loss: NamedTensor | None) -> str:
    return "loss" if loss is None or loss.name in TORCHS_OWN else loss.name


def _made(loss: NamedTensor | None) -> Iterator[Evidence]:
    if loss is not None and loss.made_by is not None:
        yield Evidence(f"{_called(loss)} was computed here", location=loss.made_by)
