"""Notes each collective of the program that all ranks take part in: its name, line, elements and type.

Only collectives that Python code calls by their public names are seen; DDP and FSDP reduce gradients in C++.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from torchwhy.observe.hooks import Hooks
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.torch_internals import rank_and_world
from torchwhy.record.standing.collective_log import CollectiveLog, calls_file_of
from torchwhy.source.files import layer_of, shown_path

__tracebackhide__ = True  # pytest leaves frames of this module out of a test's traceback
# The positions of the group and of the tensor that all ranks give with the same size, among the arguments.
COLLECTIVES: dict[str, tuple[int, int | None]] = {
    "all_reduce": (2, 0),
    "broadcast": (2, 0),
    "reduce": (3, 0),
    "all_gather": (2, None),
    "all_gather_into_tensor": (2, None),
    "gather": (3, None),
    "scatter": (3, None),
    "reduce_scatter": (3, None),
    "reduce_scatter_tensor": (3, None),
    "all_to_all": (2, None),
    "all_to_all_single": (4, None),
    "barrier": (0, None),
    "monitored_barrier": (0, None),
    "broadcast_object_list": (2, None),
    "all_gather_object": (2, None),
    "gather_object": (3, None),
    "scatter_object_list": (3, None),
}
MEETING = "init_process_group"


class CollectiveProbe:
    """Stands around the functions of `torch.distributed`; the log is opened when the ranks have met."""

    def __init__(self, run_directory: Path) -> None:
        self._run_directory = run_directory
        self._log: CollectiveLog | None = None
        self._is_inside = False  # a collective that is made of others

    def install(self, hooks: Hooks, protect: Callable[..., Any]) -> None:
        """Put the probe on."""
        distributed = torch.distributed
        if not distributed.is_available():
            return
        begin = protect("collective probe", self._begin, computes=False)
        end = protect("collective probe", self._end, computes=False)
        met = protect("collective probe", self._open, computes=False)
        for name, (group, tensor) in COLLECTIVES.items():
            original = getattr(distributed, name, None)
            if original is not None:
                noting = self._noting(original, begin, end, (name, group, tensor))
                _replace(hooks, name, original, noting)
        original = getattr(distributed, MEETING)
        _replace(hooks, MEETING, original, _followed_by(original, met))

    def _noting(
        self, original: Any, begin: Any, end: Any, facts: tuple[str, int, int | None]
    ) -> Any:
        @functools.wraps(original)
        def collective(*args: Any, **kwargs: Any) -> Any:
            if self._is_inside:
                return original(*args, **kwargs)
            self._is_inside = True
            is_noted = begin(facts, args, kwargs, frame_at(1))
            try:
                return original(*args, **kwargs)
            finally:
                self._is_inside = False
                if is_noted:
                    end()

        return collective

    def _open(self) -> None:
        rank, world_size = rank_and_world(0)
        if self._log is None and world_size > 1:
            path = calls_file_of(self._run_directory, os.getpid())
            self._log = CollectiveLog(path, rank, world_size)

    def _begin(
        self,
        facts: tuple[str, int, int | None],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        frame: FrameType,
    ) -> bool:
        name, group_place, tensor_place = facts
        if self._log is None:
            self._open()
        group = kwargs.get("group", args[group_place] if len(args) > group_place else None)
        if self._log is None or (group is not None and group is not torch.distributed.group.WORLD):
            return False
        tensor = None
        if tensor_place is not None:
            tensor = args[tensor_place] if len(args) > tensor_place else kwargs.get("tensor")
        elements, dtype = None, ""
        if isinstance(tensor, torch.Tensor):
            elements, dtype = tensor.numel(), str(tensor.dtype)
        self._log.begin(name, _place(frame), elements, dtype)
        return True

    def _end(self) -> None:
        if self._log is not None:
            self._log.end()


def _place(frame: FrameType | None) -> tuple[str, int]:
    """Return file and line of the innermost frame of the user's program."""
    while frame is not None:
        if layer_of(frame.f_code.co_filename) == "user":
            return shown_path(frame.f_code.co_filename), frame.f_lineno
        frame = frame.f_back
    return "", 0


def _followed_by(original: Any, then: Callable[[], object]) -> Any:
    @functools.wraps(original)
    def meeting(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        then()
        return result

    return meeting


def _replace(hooks: Hooks, name: str, original: Any, value: Any) -> None:
    for module in (torch.distributed, torch.distributed.distributed_c10d):
        if getattr(module, name, None) is original:
            hooks.replace_function(module, name, value)
