"""Where a value came from, and whether a mask hid it later."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Operand, OriginKind
from torchwhy.replay.microscope.expressions import span_in_module
from torchwhy.replay.microscope.operations import Operation
from torchwhy.source.values import is_constant

UNNAMED = {
    "addmm",
    "mm",
    "bmm",
    "convolution",
    "native_batch_norm",
    "native_layer_norm",
    "embedding",
    "_softmax",
}
MOST_BEFORE = 40  # operations before a division that are searched for a count
MOST_FOLLOWED = 400  # operations searched for a mask between a bad branch and the loss


@dataclass(frozen=True)
class Origin:
    """Where a tensor came from, as far as it is known."""

    kind: OriginKind = "unknown"
    name: str | None = None
    location: SourceSpan | None = None
    field: str | None = None
    steps: int | None = None  # for how many it has existed, if not since the start of training


def names_in_order(written: list[str], operands: Sequence[Operand], base: str) -> list[str | None]:
    """Return the source text of each operand, None if source and operation do not match one to one."""
    nothing: list[str | None] = [None] * len(operands)
    if base in UNNAMED or not written:
        return nothing
    if base == "rsub":
        written.reverse()
    if base == "reciprocal":
        written = written[
            -1:
        ]  # of `rate / speed` with a plain number `rate`, the operand is `speed`
    tensors = [position for position, operand in enumerate(operands) if operand.tensor is not None]
    if len(written) == len(operands) and not any(is_constant(written[p]) for p in tensors):
        return list(written)
    texts = [text for text in written if not is_constant(text)]
    names = nothing
    if len(texts) >= len(tensors) and (len(texts) == len(tensors) or len(tensors) == 1):
        for position, text in zip(tensors, texts, strict=False):
            names[position] = text
    return names


def hidden_by(forward: Operation, later: list[Operation], mask: torch.Tensor) -> SourceSpan | None:
    """Return the `where`, mask or selection that discarded all elements of `mask` computed by `forward`.

    It must cut every differentiable path from the operation onwards.
    """
    reachable = {forward.order}
    ends = {forward.order}
    hiding: Operation | None = None
    for operation in later[:MOST_FOLLOWED]:
        sources = [source.order if source is not None else -1 for source in operation.inputs]
        fed = [position for position, order in enumerate(sources) if order in reachable]
        if operation.node is not None or operation.node_number is None or not fed:
            continue
        ends.difference_update(sources)
        if operation.kept is not None and _discards(operation, fed, mask):
            hiding = hiding or operation
            continue
        reachable.add(operation.order)
        ends.add(operation.order)
    if hiding is None or ends:
        return None
    site = hiding.place()
    return span_in_module(site, hiding.module) if site else None


def _discards(operation: Operation, fed: list[int], mask: torch.Tensor) -> bool:
    """Tell whether an operation drops what it is fed at every element of `mask`."""
    base, kept = operation.info.base, operation.kept or ()
    if base == "where" and len(kept) == 3:
        keeps = (
            kept[0]
            if 1 in fed and 2 not in fed
            else ~kept[0]
            if 2 in fed and 1 not in fed
            else None
        )
        return keeps is not None and _all_false(keeps, mask)
    if base in ("masked_fill", "masked_fill_") and 0 in fed:
        return _all_false(~kept[1], mask)
    # A zero hides only finite values: 0 · inf is NaN, a birth of its own.
    if base == "mul" and not operation.births and len(kept) == 2 and len(fed) == 1 and fed[0] < 2:
        other = kept[1 - fed[0]]
        return (
            isinstance(other, torch.Tensor)
            and not other.requires_grad
            and _all_false(other != 0, mask)
        )
    if base == "index" and 0 in fed and len(kept) > 1 and len(kept[1]) == 1:
        selection = kept[1][0]
        if not isinstance(selection, torch.Tensor):
            return False
        if selection.dtype is torch.bool:
            return _all_false(selection, mask)
    if base == "masked_select" and 0 in fed:
        return _all_false(kept[1], mask)
    if base == "nan_to_num" and 0 in fed:
        return _all_false(kept[0], mask)
    return False


def _all_false(keeps: torch.Tensor, mask: torch.Tensor) -> bool:
    """Tell whether a mask keeps none of these elements; False if the shapes do not fit."""
    while keeps.dim() < mask.dim() and keeps.shape == mask.shape[: keeps.dim()]:
        keeps = keeps.unsqueeze(-1)
    try:
        keeps, mask = torch.broadcast_tensors(keeps, mask)
    except RuntimeError:
        return False
    return not bool((keeps & mask).any().item())


def divides_by_counts(operation: Operation) -> bool:
    """Tell whether an operation divides by what was computed from integers or booleans: by a count."""
    if operation.info.base.rstrip("_") != "div" or len(operation.inputs) < 2:
        return False
    waiting = [operation.inputs[1]]
    for _ in range(MOST_BEFORE):
        made = waiting.pop(0) if waiting else None
        if made is not None:
            if made.dtype.startswith(("int", "uint", "bool")):
                return True
            waiting += made.inputs
        elif not waiting:
            break
    return False
