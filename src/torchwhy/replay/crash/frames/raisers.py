"""Tells whose exception it is: torch's, a library's, Python's, or one that the program raised on purpose."""

from __future__ import annotations

import ast
from typing import Any, Literal

import torch
from torch import nn

from torchwhy.replay.crash.frames.lookup import Lookup
from torchwhy.replay.crash.frames.traceback_frames import (
    TracebackFrame,
    below,
    blamed,
    is_torch_error,
)
from torchwhy.source.files import layer_of

RaisedBy = Literal["torch", "user", "library", "python"]

# Python raises these itself, whatever the operands. A file that torch cannot open is Python's error, too.
ALWAYS_PYTHON = (
    *(NameError, SyntaxError, OSError, ZeroDivisionError, RecursionError, UnicodeError),
    *(StopIteration, StopAsyncIteration),
)
CONTAINERS = (list, tuple, str, range)
# Kinds of exceptions that a worker of a loader sends by name.
PYTHON_NAMES = frozenset(
    {kind.__name__ for kind in (*ALWAYS_PYTHON, KeyError, IndexError, AttributeError, ImportError)}
    | {"FileNotFoundError", "PermissionError", "ModuleNotFoundError", "UnboundLocalError"}
)
# CPython's own words for what it raises as RuntimeError.
OF_THE_INTERPRETER = (
    "changed size during iteration",
    "mutated during iteration",
    "raised StopIteration",
    "can't start new thread",
    "super(): ",
)


def who_raised(
    frames: list[TracebackFrame], error: BaseException, *, has_tensors: bool
) -> RaisedBy:
    """Tell whose exception it is; `has_tensors` means that a tensor is an operand of the failing expression."""
    if not frames:
        return "python"
    last = frames[-1]
    if last.is_at_raise_of_user:
        return "user"
    if isinstance(error, ALWAYS_PYTHON) or any(word in str(error) for word in OF_THE_INTERPRETER):
        return "python"
    if last.layer == "user":
        if _is_plain(error, last):
            return "python"
        return "torch" if has_tensors or is_torch_error(error) else "python"
    user = blamed(frames)
    between = below(frames, user) if user is not None else frames
    return "torch" if any(frame.layer == "torch" for frame in between) else "library"


def _is_plain(error: BaseException, frame: TracebackFrame) -> bool:
    """Tell whether an exception in the user's own line has nothing to do with the tensors on that line."""
    if isinstance(error, (ImportError, KeyError)):
        return True
    if isinstance(error, AttributeError):
        return _is_users_object(getattr(error, "obj", None))
    if isinstance(error, IndexError):
        return _looks_up_plainly(frame)
    return isinstance(error, TypeError) and _call_never_began(frame)


def _is_users_object(value: Any) -> bool:
    """Tell whether this is an object of a class of the program that is no module and no tensor."""
    if value is None or isinstance(value, (nn.Module, torch.Tensor)):
        return False
    return _is_of_user(value if isinstance(value, type) else type(value))


def _looks_up_plainly(frame: TracebackFrame) -> bool:
    """Tell whether the failing expression looks something up in a plain container."""
    node = frame.node
    if not isinstance(node, ast.Subscript):
        return False
    return isinstance(Lookup(frame.live).get(node.value), CONTAINERS)


def _call_never_began(frame: TracebackFrame) -> bool:
    """Tell whether a call of the program's own function or class, or of no function at all, never began."""
    node = frame.node
    if not isinstance(node, ast.Call):
        return False
    called: Any = Lookup(frame.live).get(node.func)
    if isinstance(called, type):
        return _is_of_user(called)
    if called is not None and not callable(called):
        return not isinstance(called, torch.Tensor)
    code = getattr(getattr(called, "__func__", called), "__code__", None)
    return code is not None and layer_of(code.co_filename) == "user"


def _is_of_user(kind: type) -> bool:
    """Tell whether a class is defined in a file of the program."""
    codes = (getattr(one, "__code__", None) for one in vars(kind).values())
    known = [code.co_filename for code in codes if code is not None]
    if known:  # the methods of a dataclass that Python wrote have no file
        return any(layer_of(name) == "user" for name in known)
    return kind.__module__ == "__main__"
