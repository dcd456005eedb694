"""Modes of torch, the program's and ours: how many are on, and how ours compute without being seen by the others."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar, cast

from torchwhy.observe.torch_features.interpreter import frame_at
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
_counting: Any = get("write-counts")


@functools.lru_cache(maxsize=8192)
def _is_counted_inside(function: Any) -> bool:
    """Tell whether torch counts the writes of an operation in the operations it consists of: `_foreach_add_`.

    All others that write have a kernel of their own for that, which runs before any dispatch mode.
    """
    if _counting is None or not getattr(getattr(function, "_schema", None), "is_mutable", False):
        return False
    has_kernel, _, keys = _counting
    try:
        return not has_kernel(function.name(), keys.ADInplaceOrView.name)
    except (RuntimeError, AttributeError):
        return False


def _is_below_another_mode(frame: Any) -> bool:
    """Tell whether a mode of the program runs the operation: torch counts no writes there, with or without us.

    The first of the frames that handle an operation is our own mode's.
    """
    count = 0
    while frame is not None and count < 2:
        count += frame.f_code.co_name == "__torch_dispatch__"
        frame = frame.f_back
    return count > 1


def running_modes() -> int:
    """Return how many dispatch modes, ours or the program's, run the operation that is under way."""
    count = 0
    frame: Any = frame_at(1)
    while (frame := frame.f_back) is not None:
        count += frame.f_code.co_name == "__torch_dispatch__"
    return count


_profiling = get("profiler-switch")
is_profiling: Callable[[], bool] = _profiling[0] if _profiling is not None else lambda: False
_record: Any = _profiling[1] if _profiling is not None else None


class DispatchMode(_TorchDispatchMode):  # type: ignore[misc]
    """The base of our own dispatch modes; a plain class where torch has none, which nobody puts on."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # torch would import all of its compiler on the first operation: 1.6 s

    def run(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Run an operation; its tensors get the versions that they get without a mode.

        Inside a mode torch excludes the part of itself that counts writes.
        """
        if not _is_counted_inside(function) or _is_below_another_mode(frame_at(1)):
            return function(*args, **kwargs)
        _, guard, keys = _counting
        with guard(keys.ADInplaceOrView, False):
            return function(*args, **kwargs)


class _Hidden(threading.local):
    """The dispatch modes of this thread, bottom first, while they are hidden from what we compute."""

    modes: list[Any] | None = None
    inside = False
    unrecorded = False


_hidden = _Hidden()


@contextmanager
def _unrecorded() -> Iterator[None]:
    """Hide what we compute from the program's profiler."""
    _hidden.unrecorded = True
    _record(False)
    try:
        yield
    finally:
        _record(True)
        _hidden.unrecorded = False


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


def note_profiler(replace: Callable[[Any, str, Any], object], note: Callable[[], object]) -> None:
    """Call `note` when the program starts a profiler."""
    if _profiling is None:
        return
    from torch.autograd import profiler

    start = profiler._enable_profiler  # type: ignore[attr-defined]

    def starting(*args: Any, **kwargs: Any) -> Any:
        note()
        return start(*args, **kwargs)

    replace(profiler, "_enable_profiler", starting)


def active_modes() -> list[Any]:
    """Return the dispatch modes of this thread, bottom first, also while they are hidden."""
    with without_dispatch_modes() as modes:
        return list(modes)


def put_on(mode: Any) -> None:
    """Enter a dispatch mode below those of the program: these leave in their own order, and the last one goes first."""
    with without_dispatch_modes() as modes:
        mode.__enter__()
        modes.insert(0, _pop(None))
        if len(modes) > 1:
            # The lowest mode of the program has noted what it found when it came; from now on that is us.
            for name, flags in _notes_of(mode):
                found = vars(modes[1])[name]
                found[0], flags[-1] = flags[-1], found[0]


def _notes_of(mode: Any) -> list[tuple[str, Any]]:
    """Return what a mode noted of torch's flags when it was entered, to restore it when it leaves."""
    return [
        (name, flags)
        for name, flags in vars(mode).items()
        if name.startswith("old_") and name.endswith("_flags") and flags
    ]


def take_off(mode: Any) -> bool:
    """Leave a dispatch mode, wherever it stands among the program's; False while it is handling an operation."""
    with without_dispatch_modes() as modes:
        place = next((i for i, other in enumerate(modes) if other is mode), None)
        if place is None:
            return False
        modes.pop(place)
        if place < len(modes):
            # The mode above has noted what it found when it came, and will restore it: that is now our own note.
            for name, flags in _notes_of(mode):
                vars(modes[place])[name][-1] = flags.pop()
        else:
            _push(mode)
            mode.__exit__(None, None, None)
        return True


def is_computing() -> bool:
    """Tell whether this thread runs something of ours that `unseen` hides."""
    return _hidden.inside or _hidden.modes is not None


def unseen(function: Function) -> Function:
    """Return `function` made invisible to modes and tensor subclasses of the program; 0.5 µs a call."""

    @functools.wraps(function)
    def hidden(*args: Any, **kwargs: Any) -> Any:
        if is_profiling() and not _hidden.unrecorded:
            with _unrecorded():
                return hidden(*args, **kwargs)
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
