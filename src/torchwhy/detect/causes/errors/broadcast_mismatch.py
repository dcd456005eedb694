from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.rules.message_kinds import (
    Elementwise,
    HiddenSize,
    Joined,
    OtherSizes,
    Stacked,
    UnequalSizes,
)
from torchwhy.detect.views.crash.crash_evidence import Sized, first_line, sized
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

MOST_NAMED = 3
SEQUENCE_DIMENSIONS = 3  # of a batch of sequences of features
MASK_DIMENSIONS = 2  # of a padding mask: samples and positions


class SizesCannotMatch(Diagnosis):
    """An expression combines tensors of shapes that torch cannot combine."""

    expression: str
    tensors: list[Sized]
    torch_says: str
    message = "{expression} cannot match the sizes of {named}: {torch_says}"
    headline = "{expression} cannot match the sizes of its operands"
    advice = "give the tensors the same shape first, or add a dimension of size 1 with `unsqueeze`"

    @property
    def named(self) -> str:
        """Return the tensors with their shapes."""
        return ", ".join(map(str, self.tensors)) or "its tensors"


class ElementsDoNotPair(SizesCannotMatch):
    """Two tensors have sizes in one dimension that are neither equal nor 1."""

    left: int
    right: int
    dimension: int
    message = "{expression} cannot match the sizes of {named}: {left} against {right} in dimension {dimension}"
    headline = "{expression} cannot match sizes: {left} against {right} in dimension {dimension}"


class JoinedSizesDiffer(SizesCannotMatch):
    """Tensors are concatenated along one dimension and differ in another."""

    left: int
    right: int
    dimension: int
    message = (
        "{expression} cannot match the sizes of {named}: it concatenates them along dimension {dimension}, "
        "but another dimension is {left} in one and {right} in the other"
    )
    headline = (
        "{expression} concatenates along dimension {dimension}, "
        "but another dimension is {left} in one and {right} in the other"
    )
    advice = "resize the tensors before concatenating them: interpolate or crop one to the shape of the other"


class SequenceFirst(SizesCannotMatch):
    """The state or the padding mask of a layer fits its input if the batch is the first dimension."""

    layer: str
    advice = (
        "{layer} expects the sequence first and the batch second; if your batch comes first, construct it with "
        "`batch_first=True`"
    )


class BroadcastMismatch(Detector):
    """Tensors that are combined element by element, or concatenated, have sizes that do not match."""

    name = "broadcast-mismatch"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            said = crash.said
            if not isinstance(said, Elementwise | Joined | HiddenSize | OtherSizes | Stacked):
                continue
            if crash.is_in_loader or crash.is_loss or crash.is_product:
                continue
            if crash.is_changed_batch(said.left, said.right):
                continue
            yield crash.finding(
                self.name,
                diagnosed(crash, said),
                evidence=[*_last_change(crash), *crash.operand_evidence, *crash.walk_evidence],
                cures=crash.fixes("unsqueeze-operand"),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case SequenceFirst():
                yield from shapes.batch_first_where_made(finding.location, source)


def diagnosed(crash: CrashView, said: UnequalSizes) -> SizesCannotMatch:
    """Return the sizes that do not match, as far as the message of torch names them."""
    operands = crash.event.operands
    tensors = operands if len(operands) > 1 else crash.event.inputs
    common: dict[str, Any] = {
        "expression": crash.expression,
        "tensors": [sized(tensor) for tensor in tensors[:MOST_NAMED]],
        "torch_says": first_line(crash.event.message),
    }
    match said:
        case Elementwise(left=int(left), right=int(right), dimension=int(dimension)):
            return ElementsDoNotPair(**common, left=left, right=right, dimension=dimension)
        case Joined(left=int(left), right=int(right), dimension=int(dimension)):
            return JoinedSizesDiffer(**common, left=left, right=right, dimension=dimension)
    layer = crash.layer
    fits = isinstance(said, HiddenSize) or _has_mask_by_batch(crash)
    if fits and layer and layer.settings.get("batch_first") is False:
        return SequenceFirst(**common, layer=layer.path)
    return SizesCannotMatch(**common)


def _has_mask_by_batch(crash: CrashView) -> bool:
    """Tell whether an operand has the first two sizes of the layer's input: a padding mask with the batch first."""
    given = crash.numbers("layer_input")
    if given is None or len(given) != SEQUENCE_DIMENSIONS or given[0] == given[1]:
        return False
    masks = [one for one in crash.event.operands if len(one.shape) == MASK_DIMENSIONS]
    return any(list(one.shape) == [int(size) for size in given[:2]] for one in masks)


def _last_change(crash: CrashView) -> list[Evidence]:
    """Return the last layer or operation that changed the shape as evidence, if a variable has the shape it gave."""
    if len(crash.event.walk) < 2:
        return []
    *before, last = crash.event.walk
    if all(one.shape == last.shape for one in before):
        return []
    given = [one for one in crash.event.operands if list(one.shape) == list(last.shape)]
    if len(given) != 1 or not given[0].name.replace(".", "").isidentifier():
        return []
    return [Evidence(f"{last.what} gave the shape of {given[0].name}", location=last.location)]
