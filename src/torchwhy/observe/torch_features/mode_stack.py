"""Modes of torch, the program's and ours: how many are on, and how ours compute without being seen by the others."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar, cast

from torchwhy.observe.torch_features.resolve import get

Function = TypeVar("Function", bound=Callable[..., Any])


def _no_modes() -> int:
    return 0


def _perhaps_a_mode() -> int:
    return 1


# Called at every step, so without a function of ours around them.
_stack = get("dispatch-stack")
dispatch_depth: Callable[[], int] = _stack[0] if _stack is not None else _no_modes
_pop: Any = _stack[1] if _stack is not None else None
_push: Any = _stack[2] if _stack is not None else None
function_depth: Callable[[], int] = (get("function-stack") or (_perhaps_a_mode,))[0]
DisableTorchFunction: Any = (get("function-switch") or (nullcontext,))[0]
_TorchDispatchMode: Any = (get("dispatch-mode") or (object,))[0]


class DispatchMode(_TorchDispatchMode):  # type: ignore[misc]
    """The base of our own dispatch modes; a plain class where torch has none, which nobody puts on."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # torch would import all of its compiler on the first operation: 1.6 s


class _Hidden(threading.local):
    """The dispatch modes of this thread, bottom first, while they are hidden from what we compute."""

    modes: list[Any] | None = None
    inside = False


_hidden = _Hidden()


@contextmanager
def without_dispatch_modes() -> Iterator[list[Any]]:
    """Take all dispatch modes off for a while: the program's own must not see what we compute.

    Torch's own `_disable_current_modes` does the same, but imports all of its compiler on the way: 1.6 s.
    """
    if _hidden.modes is not None:
        yield _hidden.modes
        return
    _hidden.modes = [_pop(None) for _ in range(dispatch_depth())][::-1]
    try:
        yield _hidden.modes
    finally:
        modes, _hidden.modes = _hidden.modes, None
        for mode in modes:
            _push(mode)


@contextmanager
def modes_off() -> Iterator[None]:
    """Take all dispatch modes off for a while, in which ours may be put on: for work on a program that is over."""
    modes = [_pop(None) for _ in range(dispatch_depth())][::-1]
    try:
        yield
    finally:
        for mode in modes:
            _push(mode)


def active_modes() -> list[Any]:
    """Return the dispatch modes of this thread, bottom first, also while they are hidden."""
    with without_dispatch_modes() as modes:
        return list(modes)


def put_on(mode: Any) -> None:
    """Enter a dispatch mode, as the innermost one."""
    mode.__enter__()
    if _hidden.modes is not None:
        _hidden.modes.append(_pop(None))


def take_off(mode: Any) -> bool:
    """Leave a dispatch mode, wherever it stands among the program's; False while it is handling an operation."""
    with without_dispatch_modes() as modes:
        place = next((i for i, other in enumerate(modes) if other is mode), None)
        if place is None:
            return False
        modes.pop(place)
        if place < len(modes):
            # The mode above has noted what it found when it came, and will restore it: that is now our own note.
            for name, flags in vars(mode).items():
                if name.startswith("old_") and name.endswith("_flags") and flags:
                    vars(modes[place])[name][-1] = flags.pop()
        else:
            _push(mode)
            mode.__exit__(None, None, None)
        return True


def unseen(function: Function) -> Function:
    """Return `function` made invisible to modes and tensor subclasses of the program; 0.5 µs a call."""

    @functools.wraps(function)
    def hidden(*args: Any, **kwargs: Any) -> Any:
        count = dispatch_depth()
        if count and _hidden.modes is not None:
            with DisableTorchFunction(), without_dispatch_modes():
                return function(*args, **kwargs)
        if count:  # as `without_dispatch_modes` does, without its generator: this runs often in a watched step
            modes = _hidden.modes = [_pop(None) for _ in range(count)][::-1]
            try:
                with DisableTorchFunction():
                    return function(*args, **kwargs)
            finally:
                _hidden.modes = None
                for mode in modes:
                    _push(mode)
        if _hidden.inside:
            return function(*args, **kwargs)  # one of ours called us: hidden already
        _hidden.inside = True
        try:
            with DisableTorchFunction():
                return function(*args, **kwargs)
        finally:
            _hidden.inside = False

    return cast("Function", hidden)
