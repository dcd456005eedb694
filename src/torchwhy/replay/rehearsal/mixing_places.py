"""The operation of a captured step that carries the future into the past, and the mask that should have kept it out."""

from __future__ import annotations

import torch

from torchwhy.plain_data import dataclass
from torchwhy.replay.rehearsal.capture.captured_program import CapturedOperation
from torchwhy.replay.rehearsal.changed_runs import ChangedRuns, Values, base_of, moved

NOTICEABLE = 1e-5  # of the largest element: rounding changes an output by 1e-7 of it
SOFTMAXES = {"_softmax", "_safe_softmax"}
MASKING = {"masked_fill", "masked_fill_", "where", "add", "add_"}
FARTHEST = 12  # operations between a product and the mask of its weights


@dataclass(frozen=True)
class Leak:
    """The first operation whose result moved before the changed element; `mask` is where its scores were masked."""

    mixing: CapturedOperation
    mask: CapturedOperation | None

    @property
    def name(self) -> str:
        """Return the name of the operation."""
        return base_of(self.mixing)


def first_leak(runs: ChangedRuns, changed: Values, *, length: int, position: int) -> Leak | None:
    """Return the first operation that moved a position before the changed one.

    Only results with one axis as long as the sequence tell positions apart; attention scores have two.
    """
    for operation in runs.step.operations:
        given = [runs.before.get(ref.number) for ref in operation.refs if ref.kind == "value"]
        if not any(_axis(one, length) is not None for one in given):
            continue
        for number in operation.results:
            before, after = runs.before.get(number or -1), changed.get(number or -1)
            if _moved_earlier(before, after, length=length, position=position):
                return Leak(operation, _mask_of(runs, operation))
    return None


def _axis(tensor: torch.Tensor | None, length: int) -> int | None:
    """Return the axis of time, if only one has its length."""
    if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point():
        return None
    axes = [axis for axis, size in enumerate(tensor.shape) if size == length]
    return axes[0] if len(axes) == 1 else None


def _moved_earlier(
    before: torch.Tensor | None, after: torch.Tensor | None, *, length: int, position: int
) -> bool:
    axis = _axis(before, length)
    if axis is None or before is None or after is None:
        return False
    return bool((moved(before, after).narrow(axis, 0, position) > NOTICEABLE).any())


def _mask_of(runs: ChangedRuns, product: CapturedOperation) -> CapturedOperation | None:
    """Return the operation that masks the scores of an attention with data, from its product back."""
    made = {n: one for one in runs.step.operations for n in one.results if n is not None}
    current: CapturedOperation | None = product
    after_softmax = True
    for _ in range(FARTHEST):
        if current is None:
            return None
        after_softmax = after_softmax and base_of(current) not in SOFTMAXES
        has_data = any(ref.kind == "slot" for ref in current.refs)
        if not after_softmax and base_of(current) in MASKING and has_data:
            return current
        before = [made[ref.number] for ref in current.refs if ref.kind == "value"]
        current = before[0] if before else None
    return None
