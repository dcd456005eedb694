"""The program's variables when a step fails: which objects they hold, and the values that can be written as text."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Iterator, Mapping
from types import FrameType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import torch

from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.plain_data import dataclass
from torchwhy.record.kept.kept_failure import LEAF, FrameKept, FramesKept, VariableKept
from torchwhy.record.secrets import is_secret_name
from torchwhy.source.files import layer_of, shown_path

MOST_VARIABLES = 400  # of one frame or file
MOST_FRAMES = 16
LONGEST_TEXT = 4000  # of one value, written as an expression
DEEPEST = 4  # containers in each other that are written as an expression


@dataclass(frozen=True)
class RunningFrame:
    """A function of the program that is running, with its variables."""

    frame: FrameType
    variables: Mapping[str, Any]

    @property
    def is_module(self) -> bool:
        """Tell whether it is the top level of a file."""
        return self.frame.f_code.co_name == "<module>"


def running_frames() -> list[RunningFrame]:
    """Return the program's running functions, innermost first."""
    frame: FrameType | None = frame_at(1)
    found: list[RunningFrame] = []
    while frame is not None and len(found) < MOST_FRAMES:
        if layer_of(frame.f_code.co_filename) == "user":
            found.append(RunningFrame(frame, borrowed_locals(frame)))
        frame = frame.f_back
    return found


def held_objects(frames: list[RunningFrame]) -> Iterator[tuple[str, Any]]:
    """Yield what variables hold, with the expression for it: `model`, `self.model`; inner frames first."""
    seen: set[int] = set()
    for one in frames:
        yield from _held(one.variables)
    for one in frames:
        if id(one.frame.f_globals) not in seen:
            seen.add(id(one.frame.f_globals))
            yield from _held(one.frame.f_globals)


def _held(variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in list(variables.items())[:MOST_VARIABLES]:
        if name.startswith("__"):
            continue
        yield name, value
        if name == "self" and isinstance(getattr(value, "__dict__", None), dict):
            yield from ((f"self.{inner}", held) for inner, held in list(vars(value).items()))


def described(frames: list[RunningFrame], step: int) -> tuple[FramesKept, dict[int, torch.Tensor]]:
    """Return the running functions and their variables as an event, and the tensors among them by their numbers."""
    numbers: dict[int, int] = {}
    event = _as_event(frames, step, numbers)
    tensors = {
        numbers[id(value)]: value
        for _, value in held_objects(frames)
        if isinstance(value, torch.Tensor) and id(value) in numbers
    }
    return event, tensors


def _as_event(frames: list[RunningFrame], step: int, numbers: dict[int, int]) -> FramesKept:
    files = {id(one.frame.f_globals): one.frame for one in frames}
    return FramesKept(
        step=step,
        frames=[
            FrameKept(
                file=shown_path(one.frame.f_code.co_filename),
                function=one.frame.f_code.co_name,
                line=one.frame.f_lineno,
                first_line=one.frame.f_code.co_firstlineno,
                variables={} if one.is_module else _kept(one.variables, numbers),
            )
            for one in frames
        ],
        globals={
            shown_path(frame.f_code.co_filename): _kept(frame.f_globals, numbers)
            for frame in files.values()
        },
    )


def _kept(variables: Mapping[str, Any], numbers: dict[int, int]) -> dict[str, VariableKept]:
    return {
        name: _variable(value, numbers)
        for name, value in list(variables.items())[:MOST_VARIABLES]
        if not name.startswith("__") and not is_secret_name(name)
    }


def _variable(value: Any, numbers: dict[int, int]) -> VariableKept:
    kind = type(value)
    text = written(value)
    if text is not None:
        return VariableKept(kind="value", text=text)
    number = numbers.setdefault(id(value), len(numbers) + 1)
    if isinstance(value, (type, ModuleType, FunctionType)):
        return VariableKept(kind="definition", object=number)
    if issubclass(kind, torch.nn.Module):
        return VariableKept(kind="module", text=kind.__name__, object=number)
    if issubclass(kind, torch.Tensor):
        is_leaf = value.requires_grad and value.is_leaf
        return VariableKept(kind="tensor", text=LEAF if is_leaf else kind.__name__, object=number)
    if issubclass(kind, torch.optim.Optimizer):
        return VariableKept(kind="optimizer", text=kind.__name__, object=number)
    if issubclass(kind, torch.utils.data.DataLoader):
        return VariableKept(kind="loader", text=kind.__name__, object=number)
    return VariableKept(kind="other", text=kind.__name__, object=number)


def written(value: Any, depth: int = DEEPEST) -> str | None:
    """Return an expression that gives a plain value (`0.1`, `torch.device('cuda')`); None for any other."""
    text = _expression(value, depth)
    return text if text is not None and len(text) <= LONGEST_TEXT else None


def _expression(value: Any, depth: int) -> str | None:
    kind = type(value)
    if kind in (bool, int, str, bytes, type(None), slice):
        return repr(value)
    if kind is float:
        return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
    if kind is torch.device:
        return f"torch.{value!r}"
    if kind is torch.dtype:
        return str(value)
    if kind is torch.Size:
        return f"torch.Size({list(value)!r})"
    if not depth:
        return None
    if kind in (Namespace, SimpleNamespace):
        inner = _expression(vars(value), depth - 1)
        return None if inner is None else f"types.SimpleNamespace(**{inner})"
    if kind is dict:
        return _of_mapping(value, depth)
    if kind in (list, tuple, set):
        return _of_sequence(value, depth)
    return None


def _of_mapping(value: dict[Any, Any], depth: int) -> str | None:
    parts = []
    for key, held in value.items():
        name, text = _expression(key, depth - 1), _expression(held, depth - 1)
        if name is None or text is None:
            return None
        parts.append(f"{name}: {text}")
    return "{" + ", ".join(parts) + "}"


def _of_sequence(value: Any, depth: int) -> str | None:
    if len(value) > LONGEST_TEXT:
        return None
    parts = [_expression(one, depth - 1) for one in value]
    if any(part is None for part in parts):
        return None
    inner = ", ".join(part or "" for part in parts)
    if isinstance(value, tuple):
        return f"({inner},)" if len(parts) == 1 else f"({inner})"
    if isinstance(value, set):
        return f"{{{inner}}}" if parts else "set()"
    return f"[{inner}]"
