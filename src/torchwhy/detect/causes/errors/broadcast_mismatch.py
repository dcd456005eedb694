from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.rules.dimension_messages import (
    DimensionsDiffer,
    InPlaceShape,
    MaskShape,
    RoomShape,
)
from torchwhy.detect.rules.message_kinds import (
    Elementwise,
    HiddenSize,
    Joined,
    OtherSizes,
    Stacked,
    UnequalSizes,
)
from torchwhy.detect.views.crash.crash_evidence import Sized, first_line, sized, sizes
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

MOST_NAMED = 3
SEQUENCE_DIMENSIONS = 3  # of a batch of sequences of features
IMAGE_DIMENSIONS = 4  # of a batch of images: samples, channels, height, width
MARKS = ("+=", "-=", "*=", "/=")
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


class ImagesDoNotPair(ElementsDoNotPair):
    """Two images have as many channels, but another height or width."""

    advice = (
        "bring one to the size of the other: `nn.functional.interpolate(…, size=other.shape[-2:])`, or crop or pad; "
        "strides and poolings round odd sizes, so doubling does not give them back"
    )


class ShortcutDiffers(ElementsDoNotPair):
    """Two images are added that differ in their channels: a shortcut around layers that change them."""

    shortcut: Sized
    other: Sized
    layer: str  # the layer that makes one of the other
    advice = (
        "give {shortcut.name} the shape of {other.name} first, with a layer of its own: `{layer}`"
    )


class DimensionCountsDiffer(SizesCannotMatch):
    """Tensors with different numbers of dimensions are concatenated."""

    first: int
    second: int
    message = "{expression} concatenates {named}, which have {first} and {second} dimensions"
    headline = "{expression} concatenates tensors with {first} and {second} dimensions"
    advice = (
        "bring them to the same number of dimensions first: `flatten(1)` or a pooling for the one with more, "
        "`unsqueeze` for the one with fewer"
    )


class WrittenInPlace(SizesCannotMatch):
    """An in-place operation cannot give the tensor that it writes to another shape."""

    there: Shape
    made: Shape
    message = "{expression} writes a result of {wide} into a tensor of {narrow}, whose shape cannot change in place"
    headline = message
    advice = "reduce the other operand to {narrow} first, such as `.sum(0)`, or make a new tensor instead of `{mark}`"

    @property
    def wide(self) -> str:
        """Return the shape of the result."""
        return sizes(self.made)

    @property
    def narrow(self) -> str:
        """Return the shape of the tensor that is written to."""
        return sizes(self.there)

    @property
    def mark(self) -> str:
        """Return what makes the operation one in place."""
        return next((mark for mark in MARKS if mark in self.expression), "the method with a `_`")


class NoRoom(SizesCannotMatch):
    """A part of a tensor has another shape than what is assigned to it, or a tensor than it is expanded to."""

    there: Shape
    made: Shape
    message = "{expression} needs a shape that fits {room}, but gets {given}"
    headline = message
    advice = "make the two equal, {given} and {room}, where the tensors are made; only a size of 1 is expanded"

    @property
    def room(self) -> str:
        """Return the shape that is there."""
        return sizes(self.there)

    @property
    def given(self) -> str:
        """Return the shape that does not fit."""
        return sizes(self.made)


class MaskDoesNotFit(SizesCannotMatch):
    """An attention mask has another shape than the attention needs."""

    given: Shape
    wanted: Shape
    message = "{expression} got a mask of {there}, but needs {needed}"
    headline = message

    @property
    def there(self) -> str:
        """Return the shape of the mask."""
        return sizes(self.given)

    @property
    def needed(self) -> str:
        """Return the shape that the attention needs."""
        return sizes(self.wanted)

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.heads is not None:
            change = f"`mask.repeat_interleave({self.heads}, dim=0)`"
            return (
                f"repeat the mask of each sample for its {self.heads} heads: {change}",
                "pass padding as `key_padding_mask`, which has one row per sample",
            )
        advice = (
            f"make the mask for the sequence that this call gets, {self.wanted[-1]} positions: take its length from "
            "the input, not from a constant or from the sequence before it was shifted"
        )
        return (advice,)

    @property
    def heads(self) -> int | None:
        """Return how many masks each sample needs, if the mask has one per sample."""
        if len(self.given) != SEQUENCE_DIMENSIONS or self.given[1:] != self.wanted[1:]:
            return None
        heads, rest = divmod(self.wanted[0], self.given[0])
        return heads if not rest and heads > 1 else None


class StateDoesNotFit(SizesCannotMatch):
    """The state that a recurrent layer gets has another shape than its own."""

    layer: str
    wanted: Shape  # layers times directions, batch, features
    given: Shape
    message = "{layer} needs a state of {needed} {meaning}, but gets {there}"
    headline = message

    @property
    def needed(self) -> str:
        """Return the shape that the layer needs."""
        return sizes(self.wanted)

    @property
    def there(self) -> str:
        """Return the shape of the state."""
        return sizes(self.given)

    @property
    def meaning(self) -> str:
        """Return what the sizes are."""
        return "(layers times directions, batch, hidden size)"

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.given[2] != self.wanted[2]:
            return (
                f"bring the state to the layer's hidden size first: `nn.Linear({self.given[2]}, {self.wanted[2]})`",
            )
        if self.given[1] != self.wanted[1]:
            return ("make the state for each batch, with the batch size of the input: `x.size(0)`",)
        if self.given[0] == 2 * self.wanted[0]:
            joined = f"`torch.cat([state[0::2], state[1::2]], dim=-1)` with a hidden size of {2 * self.wanted[2]} here"
            return (
                f"join the two directions of the layer that made the state: `state[0::2] + state[1::2]`, or {joined}",
                "make both layers with the same `bidirectional` and `num_layers`",
            )
        return ("make both layers with the same `num_layers` and `bidirectional`",)


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
                cures=crash.fixes("unsqueeze-operand", "fit-operand"),
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
            common.update(left=left, right=right, dimension=dimension)
            found = _shortcut(crash, common) or _other_images(crash, common)
            return found or ElementsDoNotPair(**common)
        case Joined(left=int(left), right=int(right), dimension=int(dimension)):
            return JoinedSizesDiffer(**common, left=left, right=right, dimension=dimension)
    layer = crash.layer
    fits = isinstance(said, HiddenSize) or _has_mask_by_batch(crash)
    if fits and layer and layer.settings.get("batch_first") is False:
        return SequenceFirst(**common, layer=layer.path)
    return _of_shapes(crash, said, common) or SizesCannotMatch(**common)


def _of_shapes(
    crash: CrashView, said: UnequalSizes, common: dict[str, Any]
) -> SizesCannotMatch | None:
    """Return what the shapes in the message of torch tell."""
    match said:
        case MaskShape(given=given, wanted=wanted):
            return MaskDoesNotFit(**common, given=given, wanted=wanted)
        case DimensionsDiffer(first=first, second=second):
            return DimensionCountsDiffer(**common, first=first, second=second)
        case InPlaceShape(there=there, made=made):
            return WrittenInPlace(**common, there=there, made=made)
        case RoomShape(there=there, made=made):
            return NoRoom(**common, there=there, made=made)
        case HiddenSize(wanted=wanted, given=given) if crash.layer is not None:
            return StateDoesNotFit(**common, layer=crash.layer.path, wanted=wanted, given=given)
    return None


def _other_images(crash: CrashView, common: dict[str, Any]) -> ImagesDoNotPair | None:
    found = [one.shape for one in crash.event.operands]
    if len(found) != 2 or any(len(shape) != IMAGE_DIMENSIONS for shape in found):
        return None
    return ImagesDoNotPair(**common) if found[0][:2] == found[1][:2] else None


def _shortcut(crash: CrashView, common: dict[str, Any]) -> ShortcutDiffers | None:
    """Return the shortcut of a residual block: the module's own input, if it has other channels than the result."""
    operands, given = crash.event.operands, crash.numbers("module_input")
    outside = [one for one in operands if one.shape == given]
    inside = [one for one in operands if one.shape != given]
    if len(outside) != 1 or len(inside) != 1:
        return None
    there, wanted = outside[0].shape, inside[0].shape
    if len(there) != IMAGE_DIMENSIONS or len(wanted) != IMAGE_DIMENSIONS or there[0] != wanted[0]:
        return None
    steps = {-(-big // small) for big, small in zip(there[2:], wanted[2:], strict=True) if small}
    if there[1] == wanted[1] or len(steps) != 1:
        return None
    (step,) = steps
    stride = f", stride={step}" if step > 1 else ""
    made = f"nn.Conv2d({there[1]}, {wanted[1]}, 1{stride})"
    return ShortcutDiffers(**common, shortcut=sized(outside[0]), other=sized(inside[0]), layer=made)


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
