"""Torch's compiler: when the program enters it, what it must not see of us, and how to run its code eagerly."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

import torch

from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.resolve import get, is_there

Function = TypeVar("Function", bound=Callable[..., Any])

ENTRY = "compile_wrapper"  # the function that the program calls in place of a compiled one
SWITCH = "set_eval_frame"  # the function by which the compiler takes over Python's frames
NAMES = (SWITCH, f"_maybe_{SWITCH}")  # under which modules keep it
HOLDERS = ("torch._dynamo.eval_frame", "torch._dynamo.decorators")  # modules that import it

_marks = get("uncompiled-code")
_switches = get("compiler-switch")
_global_hooks = get("global-hooks-asked")
_has_originals = is_there("compiled-modules")
_OPTIMIZER = torch.optim.Optimizer.__init__.__code__


def uncompiled(function: Function) -> Function:
    """Have the compiler pass over a function of ours, and over all that it calls.

    The compiler takes over every frame that begins while compiled code runs, also those that our hooks begin there.
    """
    if _marks is not None:
        mark, strategy, action = _marks
        mark(function.__code__, strategy(action.SKIP, action.SKIP))
    return function


def uncompiled_alone(function: Callable[..., Any]) -> None:
    """Have the compiler pass over a function of ours, but not over the program's code that it calls."""
    if _marks is not None:
        mark, strategy, action = _marks
        mark(function.__code__, strategy(action.SKIP, action.DEFAULT))


def shown_as(stand_in: Function, original: Any) -> Function:
    """Have the compiler take a function of ours for the one that it replaces, wherever the program keeps it."""
    vars(stand_in)["_torchdynamo_inline"] = original
    return stand_in


def is_compiling() -> bool:
    """Tell whether torch is tracing a program, with tensors that have no values."""
    return torch.compiler.is_compiling()


class CompilerWatch:
    """Notices when the program enters and leaves compiled code, by the switch with which the compiler takes over.

    The compiler is not imported for it: a module that imports the switch later gets the one that notes. Code that must
    not be compiled uses the switch as well, and so each new optimizer is noticed.
    """

    is_possible = _switches is not None and _marks is not None

    def __init__(
        self,
        *,
        entered: Callable[[], object],
        left: Callable[[], object],
        optimizer_made: Callable[[FrameType], object],
    ) -> None:
        self._entered = entered
        self._left = left
        self._optimizer_made = optimizer_made
        self.sees_optimizers = False  # set when the usual hook for new optimizers is gone
        self.is_inside = False
        self._offs = 0  # times the wrapper has switched off since it switched on

    def install(self) -> Callable[[], None]:
        """Put it on; return how to take it off."""
        home: Any = _switches[0] if _switches is not None else None
        switch = getattr(home, SWITCH)

        def noting(callback: Any) -> Any:
            if callback is None or callback is False:
                if self.sees_optimizers or frame_at(1).f_code.co_name == ENTRY:
                    self._switched_off(frame_at(1))
            else:
                self._entered()
                self.is_inside, self._offs = True, 0
            return switch(callback)

        # A function that is passed over with all that it calls could not switch.
        uncompiled_alone(noting)
        _exchange(home, switch, noting)
        return lambda: _exchange(home, noting, switch)

    @uncompiled
    def _switched_off(self, frame: FrameType) -> None:
        if frame.f_code.co_name == ENTRY:
            # The wrapper switches off, reads the state of torch, switches on, calls, and switches off twice.
            self._offs += 1
            if not self.is_inside:
                self._entered()
            elif self._offs == 2:
                self.is_inside = False
                self._left()
            return
        caller = frame.f_back
        maker = caller.f_back if caller is not None else None
        if maker is not None and maker.f_code is _OPTIMIZER:
            self._optimizer_made(maker)


def _exchange(home: Any, old: Any, new: Any) -> None:
    for module in (home, *map(sys.modules.get, HOLDERS)):
        names = {} if module is None else vars(module)
        for (
            name
        ) in NAMES:  # to look at every value would copy their memory in each forked worker: 1 ms
            if names.get(name) is old:
                names[name] = new


class EagerStance:
    """Makes compiled functions run eagerly for a while; without `set_stance` an active dispatch mode does it.

    Torch warns when a compiled module is called under global hooks; meanwhile these are ours.
    """

    def __init__(self) -> None:
        self._stance: Any = None
        self._asks: Any = None

    def begin(self) -> None:
        """Run eagerly from now on."""
        set_stance = getattr(torch.compiler, "set_stance", None)
        if set_stance is None or self._stance is not None:
            return
        self._stance = set_stance("force_eager")
        if _global_hooks is not None:
            self._asks = torch.nn.modules.module._has_any_global_hook
            torch.nn.modules.module._has_any_global_hook = _has_none

    def end(self) -> None:
        """Put the stance back that the program had."""
        stance, self._stance = self._stance, None
        if stance is not None:
            stance.__exit__(None, None, None)
        if self._asks is not None:
            torch.nn.modules.module._has_any_global_hook = self._asks
            self._asks = None


def _has_none() -> bool:
    return False


def original_of(module: torch.nn.Module) -> torch.nn.Module:
    """Return the module that a compiled one stands for; any other one as it is."""
    while _has_originals and type(module).__name__ == "OptimizedModule":
        module = vars(module)["_modules"]["_orig_mod"]
    return module


def step_code() -> CodeType | None:
    """Return the code of the function that every optimizer's step is wrapped in."""
    wrap = (get("step-wrapper") or (None,))[0]
    code: CodeType | None = None if wrap is None else wrap(_no_step).__code__
    return code


def _no_step() -> None:
    """Stand for the step of no optimizer."""


def put_back_everywhere(stand_ins: dict[int, tuple[Any, Any]]) -> None:
    """In every module that imported one of these functions by name, put the original back."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if not isinstance(names, dict):
            continue
        for name, value in list(names.items()):
            known = stand_ins.get(id(value))
            if known is not None and known[0] is value:
                names[name] = known[1]
