"""Tries the failing call with a mask turned or repeated, or with dimensions of size 1 flattened."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch

from torchwhy.record.events import OperandTrial
from torchwhy.replay.crash.trials.tensor_changes import Change, attempt

if TYPE_CHECKING:
    from torchwhy.replay.crash.autopsy.case import Case

ATTENTION_MASK = re.compile(
    r"3D attn_mask is torch\.Size\(\[(\d+), [\d, ]+\]\), but should be \((\d+),"
)
OTHER_DIMENSIONS = re.compile(r"same number of dimensions: got (\d+) and (\d+)")
SELECTING_MASK = "shape of the mask"


def fit_operands(case: Case) -> Iterator[OperandTrial]:
    """Try the one change of an operand that the shapes suggest."""
    call, message = case.call, str(case.error)
    if call is None or case.is_loss:
        return
    for found in case.operands:
        if not isinstance(found.value, torch.Tensor):
            continue
        for text, change in _changes(found.value, message):
            yield attempt(case, call, found.value, kind="fit-operand", text=text, change=change)


def _changes(value: torch.Tensor, message: str) -> Iterator[tuple[str, Change]]:
    shape = list(value.shape)
    is_mask = value.dtype == torch.bool and value.dim() == 2 and shape[0] != shape[1]
    if is_mask and SELECTING_MASK in message:
        yield ".T", lambda t: t.T
    attention = ATTENTION_MASK.search(message)
    if attention is not None and value.dim() == 3 and value.shape[0] == int(attention[1]):
        heads, rest = divmod(int(attention[2]), shape[0])
        if heads > 1 and not rest:
            yield (
                f".repeat_interleave({heads}, dim=0)",
                lambda t: t.repeat_interleave(heads, dim=0),
            )
    counts = OTHER_DIMENSIONS.search(message)
    if counts is not None:
        fewest = min(map(int, counts.groups()))
        # Flattening what has one element each mixes nothing.
        if value.dim() > fewest > 1 and all(size == 1 for size in shape[fewest:]):
            yield f".flatten({fewest - 1})", lambda t: t.flatten(fewest - 1)
