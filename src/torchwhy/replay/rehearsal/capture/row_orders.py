"""Notes where the program puts the rows of its data in another order, before the first step."""

from __future__ import annotations

import functools
import hashlib
import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from torchwhy.observe.program.frames import span_of
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.record.inputs.data_events import RowsOrdered
from torchwhy.replay.microscope.call_sites import call_site

FEWEST_ROWS = 16
MOST_ROWS = 2**20
MOST_NOTED = 64
INDEXING = {"index", "index_select"}
DRAWING = {"randperm"}
OPERATIONS = INDEXING | DRAWING


class RowOrders:
    """Knows the orders by digests: of the indices, or of the generator's state with which rows were shuffled."""

    def __init__(self, write: Callable[[RowsOrdered], None], state: TrainingState) -> None:
        self._write = write
        self._state = state
        self._noted = 0

    @property
    def wants_more(self) -> bool:
        """Tell whether no step was made yet."""
        return self._state.step == 0 and self._noted < MOST_NOTED

    def operation(self, base: str, args: Any, result: Any) -> None:
        """Note an operation that draws an order, or indexes all rows of a tensor by one."""
        order = result if base in DRAWING else _index_of(base, args)
        if order is None or not _is_order(order):
            return
        if base in INDEXING and (len(order) != len(args[0]) or _is_order(args[0])):
            return  # a part of the rows, or an order put in another order
        self._note(frame_at(1), len(order), digest(order), is_applied=base in INDEXING)

    def install(
        self, replace_attribute: Callable[[Any, str, Any], Any], guarded: Callable[..., Any]
    ) -> None:
        """Put stand-ins on the functions that shuffle in place."""
        numpy: Any = sys.modules.get("numpy")
        for module, name in ((random, "shuffle"), (getattr(numpy, "random", None), "shuffle")):
            if module is not None and hasattr(module, name):
                original = getattr(module, name)
                note = guarded(functools.partial(self._shuffled, module))
                replace_attribute(module, name, self._shuffling(original, note))

    def _shuffling(
        self, original: Callable[..., Any], note: Callable[..., Any]
    ) -> Callable[..., Any]:
        @functools.wraps(original)
        def shuffle(*args: Any, **kwargs: Any) -> Any:
            if self.wants_more and len(args) == 1 and not kwargs:
                note(args[0], frame_at(1))
            return original(*args, **kwargs)

        return shuffle

    def _shuffled(self, module: Any, rows: Any, frame: FrameType | None) -> None:
        count = len(rows)
        if not FEWEST_ROWS <= count <= MOST_ROWS or _are_indices(rows):
            return
        if module is random:
            text = repr(random.getstate())
        else:
            _, keys, position, *_ = module.get_state()
            text = repr((keys.tobytes(), position))
        key = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        self._note(frame, count, key, is_applied=True)

    def _note(self, frame: FrameType | None, rows: int, order: str, *, is_applied: bool) -> None:
        site = call_site(frame)
        if site.part == "data" or not site.sites:  # a sampler of torch
            return
        self._noted += 1
        self._write(
            RowsOrdered(
                rows=rows, order=order, is_applied=is_applied, location=span_of(site.sites[0])
            )
        )


def _index_of(base: str, args: Any) -> Any:
    """Return the index of the first dimension if there is no other."""
    if base == "index_select":
        return args[2] if args[1] == 0 else None
    return args[1][0] if len(args[1]) == 1 else None


def _is_order(values: Any) -> bool:
    if not isinstance(values, torch.Tensor) or values.dtype is not torch.int64 or values.dim() != 1:
        return False
    if not FEWEST_ROWS <= len(values) <= MOST_ROWS:
        return False
    is_sorted = bool((values[1:] > values[:-1]).all())
    return not is_sorted and torch.equal(values.sort().values, torch.arange(len(values)))


def _are_indices(rows: Any) -> bool:
    """Tell whether what is shuffled is a list of row numbers, with which several arrays may be indexed."""
    try:
        return sorted(int(one) for one in rows) == list(range(len(rows)))
    except (TypeError, ValueError):
        return False


def digest(order: torch.Tensor) -> str:
    """Return a name that equal orders share."""
    content = order.detach().cpu().contiguous().numpy().tobytes()
    return hashlib.blake2b(content, digest_size=8).hexdigest()
