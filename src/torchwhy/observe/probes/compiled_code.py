"""Steps aside when the program first calls a compiled function.

The compiler traces what a program calls and guards what it found there, so a hook that it meets changes graphs, guards
and recompilations. Every such hook goes before the compiler looks, and optimizer steps are noticed where it does not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from torchwhy.observe.descriptors import NotedOnAccess
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.steps.compiled_steps import CompiledSteps
from torchwhy.observe.steps.loss_scale import LossScale
from torchwhy.observe.torch_features.compiler import (
    CompilerWatch,
    EagerStance,
    put_back_everywhere,
    shown_as,
    step_code,
    uncompiled,
    uncompiled_alone,
)
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.torch_internals import scaler_update_code

__tracebackhide__ = True  # pytest leaves frames of this module out of a test's traceback


class CompilerProbe:
    """Waits for the first call of a compiled function."""

    def __init__(
        self,
        hooks: Hooks,
        *,
        steps: StepsUnderRecord,
        compiled_steps: CompiledSteps,
        entered: Callable[[], object],
        optimizer_made: Callable[[Any, FrameType], object],
        runs_eagerly: bool,
        protect: Callable[..., Any],
    ) -> None:
        self._hooks = hooks
        self._steps = steps
        self._entered = entered
        self._made = optimizer_made
        self._runs_eagerly = runs_eagerly
        self._eager = EagerStance()
        self._step_aside = protect("compile probe", self._take_hooks_off)
        self._count_from_here = protect("compile probe", compiled_steps.code_begins)
        self._count = protect("compile probe", compiled_steps.code_ends)
        self._watch = CompilerWatch(
            entered=self._compiled_code_begins,
            left=self._count,
            optimizer_made=self._optimizer_made,
        )

    def install(self) -> None:
        """Watch the compiler, and calls of `torch.compile`."""
        if self._watch.is_possible:
            self._hooks.add(self._watch.install(), stays=True)
        self._wait_for_compile(entry_is_noted=self._watch.is_possible)

    @uncompiled
    def _compiled_code_begins(self) -> None:
        if not self._hooks.are_barred:
            self._step_aside()
        if self._hooks.are_barred and not self._watch.is_inside:
            self._count_from_here()

    def _optimizer_made(self, frame: FrameType) -> None:
        """Note an optimizer that is being made, now that the hook for it is gone."""
        optimizer = borrowed_locals(frame).get("self")
        if optimizer is not None:
            self._made(optimizer, frame)

    def _take_hooks_off(self) -> None:
        if self._hooks.are_barred:
            return
        if self._runs_eagerly:
            self._eager.begin()
            return
        self._hooks.bar()
        self._watch.sees_optimizers = True
        put_back_everywhere(self._hooks.stand_ins)
        self._steps.install(self._hooks)
        self._entered()

    def _wait_for_compile(self, *, entry_is_noted: bool) -> None:
        """Step aside when the program compiles a module: the call of a compiled one warns of global hooks.

        A decorated function may never be called; its first call is noted, if torch lets us.
        """
        compile_it = torch.compile

        @functools.wraps(compile_it)
        def compile(*args: Any, **kwargs: Any) -> Any:  # noqa: A001 - it takes that name's place
            model = args[0] if args else kwargs.get("model")
            if isinstance(model, torch.nn.Module) or not entry_is_noted:
                self._step_aside()
            return compile_it(*args, **kwargs)

        self._hooks.replace_function(torch, "compile", shown_as(compile, compile_it))


class StepsUnderRecord:
    """Notices the steps of optimizers by the profiler's record around each: the compiler leaves records out."""

    def __init__(
        self, before: Callable[..., object], after: Callable[..., object], scale: LossScale
    ) -> None:
        self._before = before
        self._after = after
        self._scale = scale
        self._code = step_code()

    def install(self, hooks: Hooks) -> None:
        """Look at every record that begins and ends."""
        if self._code is None:
            return
        record = torch.autograd.profiler.record_function
        leave = record.__exit__

        @uncompiled
        def begins(_: Any) -> None:
            frame = frame_at(2)
            if frame.f_code is self._code:
                self._note_scaler(frame.f_back)
                self._before(*_step_in(frame))

        @uncompiled
        def ended(frame: FrameType) -> None:
            if frame.f_code is self._code:
                self._after(*_step_in(frame))

        def ends(instance: Any, kind: Any, error: Any, trace: Any) -> Any:
            result = leave(instance, kind, error, trace)
            if kind is None:
                ended(frame_at(1))
            return result

        uncompiled_alone(ends)
        hooks.replace_unseen(record, "__enter__", NotedOnAccess(record.__enter__, begins))
        hooks.replace_unseen(record, "__exit__", ends)

    def _note_scaler(self, caller: FrameType | None) -> None:
        """Know the GradScaler that makes the step: it has divided the gradients and found them finite."""
        if caller is not None and caller.f_code is scaler_update_code():
            scaler = borrowed_locals(caller).get("self")
            if scaler is not None and scaler.is_enabled():
                self._scale.scaler = scaler
                self._scale.gradients_scaled = False
                self._scale.scaler_answers = True


def _step_in(frame: FrameType) -> tuple[Any, Any, Any]:
    variables = borrowed_locals(frame)
    return variables["self"], variables["args"], variables["kwargs"]
