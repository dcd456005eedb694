"""Finds where in the user's program we are: cheap to take (code and instruction), exact when resolved later."""

from __future__ import annotations

import ast
import linecache
import opcode
import sys
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType, SimpleNamespace
from typing import Any, NamedTuple, cast

from torchwhy.finding import SourceSpan
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.source import files
from torchwhy.source.files import layer_of, loaded, shown_path
from torchwhy.source.scopes import name_around_comprehension
from torchwhy.source.text import Position, between

STACK_LIMIT = (
    6  # user frames kept per operation: the innermost one locates it, the others show the way to it
)
# Methods by which modes and tensor subclasses of the program hand on an operation that other code asks for.
HANDS_ON = frozenset({"__torch_dispatch__", "__torch_function__"})
FOR_ITER = opcode.opmap["FOR_ITER"]
COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>"})


class Site(NamedTuple):
    """One frame's place in its code: all that is needed to find the expression later."""

    code: CodeType
    instruction: int


def user_sites(frame: FrameType | None, *, limit: int = STACK_LIMIT) -> tuple[Site, ...]:
    """Return the user's frames from `frame` outwards, innermost first; else one of a library."""
    found: list[Site] = []
    library: list[Site] = []
    while frame is not None and len(found) < limit:
        layer = layer_of(frame.f_code.co_filename)
        if layer == "user" and frame.f_code.co_name not in HANDS_ON:
            found.append(Site(frame.f_code, frame.f_lasti))
        elif layer == "library" and not library:
            library.append(Site(frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found or library)


def calling_span() -> SourceSpan | None:
    """Return the innermost expression of the user's program that is running now."""
    sites = user_sites(frame_at(1))
    return span_of(sites[0]) if sites else None


@lru_cache(maxsize=4096)
def span_of(site: Site) -> SourceSpan:
    """Return the expression that `site` was executing."""
    line, end_line, column, end_column = _position(site)
    code = site.code
    if end_line is not None and end_line > line and _is_loop_header(code.co_filename, line):
        # For a `for` that fetches its next item, Python reports the whole loop; we want its header.
        end_line, end_column = line, len(linecache.getline(code.co_filename, line).rstrip())
    return SourceSpan(
        file=shown_path(code.co_filename),
        line=line,
        end_line=end_line,
        column=column,
        end_column=end_column,
        function=function_of(code),
        expression=text_at(code.co_filename, (line, end_line, column, end_column)),
    )


def function_of(code: CodeType) -> str:
    """Return the name of the function of a code object; a comprehension belongs to the function around it.

    Since Python 3.12 it has no code of its own, so a place has the same name in every Python.
    """
    if code.co_name in COMPREHENSIONS and (source := loaded(code.co_filename)) is not None:
        return name_around_comprehension(source, code.co_firstlineno) or code.co_name
    return code.co_name


def _is_loop_header(filename: str, line: int) -> bool:
    return linecache.getline(filename, line).lstrip().startswith(("for ", "async for "))


def _position(site: Site) -> tuple[int, int | None, int | None, int | None]:
    code, instruction = site
    if sys.version_info >= (3, 11):
        index = instruction // 2
        position = next(islice(code.co_positions(), index, None), None) if index >= 0 else None
        if position is not None and position[0] is not None:
            line, end_line, column, end_column = _of_whole_loop(site, position)
            return (
                line or code.co_firstlineno,
                end_line,
                *_in_characters(code, line, column),
                *(_in_characters(code, end_line, end_column)),
            )
        return code.co_firstlineno, None, None, None
    return _position_by_executing(code, instruction)


def _of_whole_loop(site: Site, position: Position) -> Position:
    """Return the position of a loop that fetches its next item, for which Python 3.13 reports what it goes over."""
    code, instruction = site
    if sys.version_info < (3, 13) or code.co_code[instruction] != FOR_ITER:
        return position
    source = loaded(code.co_filename)
    for node in ast.walk(source.tree) if source is not None else ():
        if isinstance(node, (ast.For, ast.AsyncFor)):
            over = node.iter
            if (over.lineno, over.end_lineno, over.col_offset, over.end_col_offset) == position:
                return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
    return position


def _in_characters(code: CodeType, line: int | None, column: int | None) -> tuple[int | None]:
    """Turn a column in UTF-8 bytes, as Python reports it, into one in characters."""
    if line is None or column is None:
        return (None,)
    text = linecache.getline(code.co_filename, line)
    if text.isascii():
        return (column,)
    return (len(text.encode()[:column].decode(errors="ignore")),)


def _position_by_executing(
    code: CodeType, instruction: int
) -> tuple[int, int | None, int | None, int | None]:
    import executing

    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            line = number
    stand_in = SimpleNamespace(f_code=code, f_lasti=instruction, f_lineno=line, f_globals={})
    node: Any = executing.Source.executing(cast("FrameType", stand_in)).node
    if node is None:
        return line, None, None, None
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def restart_in(directory: str) -> None:
    """Make `directory` the one paths are shown relative to."""
    files.restart_in(directory)
    span_of.cache_clear()


def text_at(filename: str, position: Position) -> str | None:
    """Return the text at a position of a file, the whole line without columns."""
    return between(linecache.getlines(filename), position)
