"""Captures a call of a custom `autograd.Function` as one operation, so that its own backward differentiates it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from types import MethodType
from typing import Any

import torch

from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.replay.microscope.call_sites import call_site
from torchwhy.replay.rehearsal.capture.capture_mode import CaptureMode
from torchwhy.replay.rehearsal.capture.captured_program import (
    CapturedOperation,
    Ref,
    exchanged,
    flat,
    refs_in,
)
from torchwhy.replay.rehearsal.capture.operation_log import Segment, flat_tensors


class CustomFunctions:
    """Stands in for `Function.apply`; what runs inside of a call is logged as one operation if it uses nothing else."""

    def __init__(self, mode: CaptureMode) -> None:
        self._mode = mode
        self._depth = 0

    def install(self, replace_attribute: Callable[[Any, str, Any], Any]) -> None:
        """Put the stand-in on torch."""
        kind = torch.autograd.Function
        original = kind.apply.__func__  # type: ignore[attr-defined]

        @functools.wraps(original)
        def apply(function: type, *args: Any, **kwargs: Any) -> Any:
            if not self._mode.is_on or self._depth:
                return original(function, *args, **kwargs)
            segment = self._mode.log.current
            before = len(segment.operations)
            self._depth += 1
            try:
                result = original(function, *args, **kwargs)
            finally:
                self._depth -= 1
            call = MethodType(original, function)
            self._mode.guarded(self._log)(call, (args, kwargs), result, segment, before)
            return result

        replace_attribute(kind, "apply", classmethod(apply))

    @unseen
    def _log(self, call: Any, given: Any, result: Any, segment: Segment, before: int) -> None:
        log = self._mode.log
        if segment is not log.current or not any(map(log.depends, flat_tensors(given))):
            return
        sites = call_site(frame_at(3)).sites
        site = sites[0] if sites else None
        args, kwargs = exchanged(given, lambda one: self._mode.ref(one, site))
        inner = segment.operations[before:]
        handed = {ref[:2] for ref in refs_in((args, kwargs))}
        made = {number for operation in inner for number in operation.results}
        if not all(_uses_only(operation, handed, made) for operation in inner):
            # It uses weights that it was not handed: a checkpoint, which is differentiated as it ran.
            grad = torch.is_grad_enabled()
            segment.operations[before:] = [_differentiated(one, made, grad=grad) for one in inner]
            return
        del segment.operations[before:]
        numbers = tuple(self._name(one) for one in flat(result))
        shapes = tuple(
            tuple(o.shape) if isinstance(o, torch.Tensor) else None for o in flat(result)
        )
        grad = torch.is_grad_enabled()
        segment.operations.append(
            CapturedOperation(call, args, kwargs, numbers, shapes, with_grad=grad, site=site)
        )

    def _name(self, result: Any) -> int | None:
        if not isinstance(result, torch.Tensor):
            return None
        number = self._mode.log.new_number()
        self._mode.log.name(result, Ref("value", number))
        return number


def _uses_only(operation: CapturedOperation, handed: set[Any], made: set[int | None]) -> bool:
    outside = {ref[:2] for ref in operation.refs if ref.kind != "slot" and ref.number not in made}
    return outside <= handed and all(number in made for number in operation.writes)


def _differentiated(
    operation: CapturedOperation, made: set[int | None], *, grad: bool
) -> CapturedOperation:
    """Return an operation that ran without a graph as a part of one."""

    def joined(value: Any) -> Any:
        if isinstance(value, Ref) and value.kind == "value" and value.number in made:
            return value._replace(detached=False)
        return value

    args, kwargs = exchanged((operation.args, operation.kwargs), joined)
    return replace(operation, args=args, kwargs=kwargs, with_grad=grad)
