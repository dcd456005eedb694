"""Notes the tensors that the program's functions are given in training steps as arguments that they never read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import field
from types import CodeType, FrameType
from typing import Any

import torch

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.frames import Site
from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.program.user_modules import user_sources
from torchwhy.plain_data import dataclass
from torchwhy.replay.microscope.call_sites import part_of
from torchwhy.source.analyses.unread_arguments import (
    is_handed_on,
    of_one_signature,
    unread_arguments,
)
from torchwhy.source.files import loaded, scope_of, span_in
from torchwhy.source.scopes import first_line_of

MOST_FRAMES = 200
MOST_LOOKS = 20_000  # operations whose frames are looked at, each for some microseconds


@dataclass(frozen=True)
class UnreadArgument:
    """An argument of one of the program's functions that is a tensor in every call, and that it never reads."""

    name: str
    function: str
    place: SourceSpan


@dataclass
class _Called:
    """One function of the program: the arguments it never reads, those that were no tensor, and who calls it."""

    unread: dict[str, ast.arg]
    others: set[str] = field(default_factory=set)
    callers: set[Site] = field(default_factory=set)
    is_interface: bool = False


class GivenArguments:
    """Looks at the frames of operations; `unread` judges nothing but what the source and the calls say."""

    def __init__(self) -> None:
        self._called: dict[CodeType, _Called] = {}
        self._looks = 0

    def look(self, frame: FrameType | None) -> None:
        """Note the functions of the program that are running."""
        if self._looks >= MOST_LOOKS:
            return
        self._looks += 1
        for _ in range(MOST_FRAMES):
            if frame is None:
                return
            if frame.f_code.co_name != "<module>" and part_of(frame.f_code.co_filename) == "user":
                self._note(frame)
            frame = frame.f_back

    def _note(self, frame: FrameType) -> None:
        code = frame.f_code
        called = self._called.get(code)
        if called is None:
            called = self._called[code] = _Called(_candidates(code))
        caller, through_library = _caller(frame)
        if caller is None or caller in called.callers:
            return
        called.callers.add(caller)
        if not called.unread:
            return
        variables = borrowed_locals(frame)
        called.others |= {
            name for name in called.unread if not isinstance(variables.get(name), torch.Tensor)
        }
        owner = variables.get(code.co_varnames[0]) if code.co_argcount else None
        is_forward = isinstance(owner, torch.nn.Module) and _is_forward(owner, code)
        if (through_library and not is_forward) or _is_override(owner, code):
            called.is_interface = True

    def unread(self) -> list[UnreadArgument]:
        """Return the unread arguments of functions whose signature is their own."""
        return [
            UnreadArgument(name, code.co_name, span_in(code, node))
            for code, called in self._called.items()
            for name, node in called.unread.items()
            if called.callers
            and not called.is_interface
            and name not in called.others
            and not self._is_shared(code, name)
        ]

    def _is_shared(self, code: CodeType, name: str) -> bool:
        """Tell whether the signature is that of a family: members that do not run here, or run from the same place."""
        function = scope_of(code)
        if function is None or isinstance(function, ast.Module):
            return True
        ours = self._called[code].callers
        for source in user_sources():
            if is_handed_on(source, code.co_name):
                return True
            for one in of_one_signature(source, function, name):
                running = self._callers_of(source.file, first_line_of(one), one.lineno)
                if running is None or running & ours:
                    return True
        return False

    def _callers_of(self, file: str, first: int, last: int) -> set[Site] | None:
        for code, called in self._called.items():
            source = loaded(code.co_filename)
            here = source is not None and source.file == file
            if here and first <= code.co_firstlineno <= last:
                return called.callers
        return None


def _candidates(code: CodeType) -> dict[str, ast.arg]:
    function = scope_of(code)
    if function is None or isinstance(function, ast.Module):
        return {}
    return {one.arg: one for one in unread_arguments(function)}


def _caller(frame: FrameType) -> tuple[Site | None, bool]:
    """Return the place in the program that called a function, and whether other code was between."""
    above, between = frame.f_back, False
    while above is not None:
        part = part_of(above.f_code.co_filename)
        if part == "user":
            return Site(above.f_code, above.f_lasti), between
        between = between or part != "own"
        above = above.f_back
    return None, between


def _is_forward(module: torch.nn.Module, code: CodeType) -> bool:
    forward: Callable[..., Any] = type(module).forward
    return getattr(forward, "__code__", None) is code


def _is_override(owner: Any, code: CodeType) -> bool:
    """Tell whether a class above has a method of the same name; torch's own empty `forward` is none."""
    if owner is None or code.co_name not in dir(type(owner)):
        return False
    return sum(code.co_name in vars(one) for one in _classes(type(owner))) > 1


def _classes(kind: type) -> Iterator[type]:
    return (one for one in kind.__mro__ if one is not torch.nn.Module)
