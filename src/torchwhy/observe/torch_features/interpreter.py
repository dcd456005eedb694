"""What torchwhy uses of CPython in private: frames, the ways a script is loaded, processes that are being spawned.

Needs no torch: the supervisor and the boot use it, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from torchwhy.observe.torch_features.resolve import get, is_there

if TYPE_CHECKING:
    import argparse


def _frame_by_exception(depth: int = 0) -> FrameType:
    """Return the frame so many calls above the caller's own."""
    frame: FrameType | None = None
    try:
        raise LookupError  # noqa: TRY301 - for its traceback
    except LookupError:
        trace = sys.exc_info()[2]
        frame = trace.tb_frame.f_back if trace is not None else None
    for _ in range(depth):
        frame = frame.f_back if frame is not None else None
    if frame is None:
        raise ValueError("call stack is not deep enough")
    return frame


# Called at every step, so without a function of ours around it.
frame_at: Callable[[int], FrameType] = (get("frames") or (_frame_by_exception,))[0]


def note_warnings(
    replace: Callable[[Any, str, Any], object],
    note: Callable[[Any], object],
    mark: Callable[[Any], object],
) -> None:
    """Call `note` with every warning that is shown, before whoever shows it; `mark` gets the function that does."""
    import warnings

    show = warnings._showwarnmsg  # type: ignore[attr-defined]

    def noting(message: Any) -> None:
        note(message)
        show(message)

    mark(noting)
    replace(warnings, "_showwarnmsg", noting)


def target_of(process: Any) -> Any:
    """Return the function that a process of `multiprocessing` was given, None if it has its own `run`."""
    return getattr(process, "_target", None)


def is_in_child_process() -> bool:
    """Tell whether multiprocessing started this process, also while it is still being set up."""
    import multiprocessing

    is_starting = getattr(multiprocessing.current_process(), "_inheriting", False)
    return bool(is_starting) or multiprocessing.parent_process() is not None


def is_plain_slot(found: Any) -> bool:
    """Tell whether a static attribute is one of `__slots__` or a named tuple's field: reading it runs no code."""
    fields = get("named-tuples") or ()
    return type(found).__name__ == "member_descriptor" or type(found) in fields


def options_with_values(parser: argparse.ArgumentParser) -> set[str]:
    """Return the options of a parser that take a value, which may follow as a word of its own."""
    actions = parser._actions if is_there("command-options") else []
    return {name for action in actions if action.nargs != 0 for name in action.option_strings}


def replace_reading(change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Let `change` wrap the function by which `runpy`, and so a spawned worker, reads a script."""
    import runpy

    _need("script-loading")
    runpy._get_code_from_file = change(runpy._get_code_from_file)  # type: ignore[attr-defined]


def run_main_once(run: Callable[[], object]) -> None:
    """Have the interpreter call `run` once, where it would run what it takes for a zipped program."""
    import runpy

    _need("script-loading")
    run_module = runpy._run_module_as_main  # type: ignore[attr-defined]

    def run_main(name: str, alter_argv: bool = True) -> Any:  # noqa: FBT001, FBT002 (the interpreter's own call)
        if name != "__main__" or alter_argv:
            return run_module(name, alter_argv)
        runpy._run_module_as_main = run_module  # type: ignore[attr-defined]
        return run()

    runpy._run_module_as_main = run_main  # type: ignore[attr-defined]


def _need(name: str) -> None:
    if not is_there(name):
        version = sys.version.split()[0]
        raise NotImplementedError(f"Python {version} lacks the private feature {name!r}")
