from __future__ import annotations

import math
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.rules.message_kinds import NonScalar
from torchwhy.detect.views.crash.crash_evidence import sizes
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.events import NamedTensor
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

# Names in the frames of torch, used if the source of the program is unknown.
TORCHS_OWN = ("self", "tensors", "tensors[0]")


class SeveralElements(Diagnosis):
    """A backward pass starts from a tensor with more than one element; which one is unknown."""

    call: str
    loss: str | None = None  # the name in the program
    message = "`{call}` starts a backward pass from a tensor with more than one element"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            f"reduce it to one number: `{self.loss or 'loss'}.mean().backward()`",
            'if the criterion has `reduction="none"`, remove that',
        )


class LossNotScalar(SeveralElements):
    """The loss of a backward pass has more than one element."""

    shape: Shape
    made_at: SourceSpan | None
    message = "{who} has {count} elements ({size}), but a backward pass must start from one number"

    @property
    def who(self) -> str:
        """Return the loss."""
        return f"`{self.loss}`" if self.loss is not None else "the loss"

    @property
    def count(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)

    @property
    def size(self) -> str:
        """Return the shape in words."""
        return sizes(self.shape)

    def evidence(self) -> Iterator[Evidence]:
        if self.made_at is not None:
            yield Evidence(f"{self.loss or 'loss'} was computed here", location=self.made_at)


class NonScalarBackward(Detector):
    """`backward()` was called on a tensor with more than one element."""

    name = "non-scalar-backward"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if isinstance(crash.said, NonScalar):
                diagnosis = diagnosed(crash)
                yield crash.finding(self.name, diagnosis, evidence=crash.operand_evidence)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.scalar_loss(finding.location, source)


def diagnosed(crash: CrashView) -> SeveralElements:
    """Return the loss with its shape, if the crash recorded it."""
    loss = _loss(crash)
    if loss is None:
        return SeveralElements(call=crash.expression)
    return LossNotScalar(
        call=crash.expression,
        loss=loss.name if loss.name not in TORCHS_OWN else None,
        shape=loss.shape,
        made_at=loss.made_by,
    )


def _loss(crash: CrashView) -> NamedTensor | None:
    return next((one for one in crash.tensors if one.shape and one.graph is not None), None)
