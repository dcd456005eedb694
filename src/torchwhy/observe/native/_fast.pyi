# What the accelerator offers. Each file in C has the name of its Python twin, which defines the behaviour.

import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

EDITION: int

# module.c and tensors.c
def begin(
    *,
    exchange: object,
    tensor: type,
    parameter: type,
    clock: Callable[[], float],
    dispatch_depth: Callable[[], int],
    function_depth: Callable[[], int],
    is_profiling: Callable[[], bool],
    next_node_number: Callable[[], int],
    is_grad_enabled: Callable[[], bool],
    is_neg: object,
    module_call: object,
    batch: type,
) -> bool: ...
def number_in(tensor: torch.Tensor, /) -> float | None: ...
def surely_finite(tensor: torch.Tensor, /) -> bool: ...
def copied(copies: list[torch.Tensor], references: list[weakref.ref[torch.Tensor]], /) -> bool: ...
def call_soon(function: Callable[[], object], /) -> bool: ...

# measures.c
def measured(tensor: torch.Tensor, /) -> tuple[int, int, int, int, float, float, float] | None: ...
def has_nonzero(tensor: torch.Tensor, /) -> bool | None: ...
def same_rows(tensor: torch.Tensor, /) -> bool | None: ...
def rows_apart(tensor: torch.Tensor, /) -> tuple[float, float] | None: ...
def units_at_rest(
    tensor: torch.Tensor, dimension: int, low: float, high: float, /
) -> tuple[int, int, int] | None: ...

# call_sites.c
def begin_walks(
    site: type,
    part_of: Callable[[str], str],
    backward_entry: object,
    most_sites: int,
    most_frames: int,
    /,
) -> None: ...
def walked(
    frame: FrameType, /
) -> tuple[tuple[Any, ...], tuple[Any, ...], str, str, tuple[Any, ...]]: ...

# records.c
class StateRecord: ...
class DroppedRecord: ...
class CruiseRecord: ...
class EntryRecord: ...
class WatchedRecord: ...
class ReadingRecord: ...
class BatchesRecord: ...
class BatchRecord: ...
class RandomRecord: ...
class GuestsRecord: ...
class ModesRecord: ...
class TallyRecord: ...

# cruise.c and between_steps.c
class NativeCruise:
    def __init__(
        self,
        *,
        cruise: CruiseRecord,
        state: StateRecord,
        batches: BatchesRecord,
        modes: ModesRecord,
        log: object,
        guests: GuestsRecord,
        before: Callable[..., object],
        after: Callable[..., object],
        rate_change: float,
        most_bytes: int,
        batches_without_step: int,
        lines_at_once: int,
        slots: int,
        still: int,
        seldom: int,
    ) -> None: ...
    def before_step(self, optimizer: object, args: object, kwargs: object, /) -> None: ...
    def after_step(self, optimizer: object, args: object, kwargs: object, /) -> None: ...

# descriptors.c
class _Descriptor:
    original: Any
    def __init__(
        self,
        original: object,
        note: Callable[..., object],
        cruise: NativeCruise,
        extra: object = ...,
        /,
    ) -> None: ...

class Engine(_Descriptor): ...
class Read(_Descriptor): ...
class Forward(_Descriptor): ...
class Changed(_Descriptor): ...
class IndexNote(_Descriptor): ...

# exception_watchers.c
class Tracer:
    def __init__(self, note: Callable[[FrameType, Any], object], /) -> None: ...
    def begin(self, events: int, /) -> None: ...
    def end(self) -> None: ...

# backward_log.c
class BackwardLog:
    kept: list[tuple[Any, ...]]
    seconds: float
    def __init__(
        self,
        *,
        microscope: object,
        births: dict[int, Any],
        running: list[Any],
        waiting: list[Any],
        info_of: Callable[[Any], object],
        call_site: Callable[[FrameType | None], object],
        look: Callable[..., object],
        weak: Callable[[Any], object],
        current_node: Callable[[], object],
    ) -> None: ...
    def run(self, function: Any, args: Any, kwargs: Any, /) -> Any: ...
    def take(self) -> list[tuple[Any, ...]]: ...
    def begin(self) -> None: ...

# ordinary_operations.c
class OrdinaryOperations:
    seconds: float
    def __init__(self, **given: Any) -> None: ...
    def run(self, function: Any, args: Any, kwargs: Any, /) -> Any: ...
