"""Where in the user's program are we? Cheap to take (code object and instruction), exact when resolved later."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, SimpleNamespace
from typing import Any, Literal, NamedTuple, cast

from torchwhy.finding import SourceSpan

Layer = Literal["torch", "library", "user"]

EXPRESSION_LIMIT = (
    200  # characters of an expression worth keeping; longer ones are cut with an ellipsis
)
STACK_LIMIT = (
    6  # user frames kept per operation: the innermost one locates, the others tell the way there
)

_torch_root = ""
_own_root = str(Path(__file__).resolve().parents[2]) + os.sep
_library_roots = tuple(
    {
        os.path.realpath(sysconfig.get_path(name)) + os.sep
        for name in ("stdlib", "purelib", "platlib")
    }
)
_start_directory = str(Path.cwd())


class Site(NamedTuple):
    """One frame's place in its code: all that is needed to find the expression later."""

    code: CodeType
    instruction: int


def remember_torch(torch_file: str) -> None:
    """Tell where torch lives, so that its frames are not taken for the user's."""
    global _torch_root, _library_roots  # noqa: PLW0603 - set once when torch has been imported
    _torch_root = str(Path(torch_file).parent) + os.sep
    _library_roots = tuple({*_library_roots, *_installed_roots()})
    layer_of.cache_clear()


def _installed_roots() -> Iterator[str]:
    """Yield the folders of the search path into which packages were installed, as by `pip install --target`.

    Not the one of the program itself: some are shipped with their packages beside them.
    """
    own = {os.path.realpath(folder) for folder in (sys.path[0] or ".", ".")}
    for folder in sys.path[1:]:
        real = os.path.realpath(folder)
        try:
            names = os.listdir(real) if real not in own else []  # noqa: PTH208 - only the names
        except OSError:
            continue
        if any(name.endswith(".dist-info") for name in names):
            yield real + os.sep


def foreign_roots() -> tuple[str, ...]:
    """Return the folders under which no file is the user's."""
    return (*_library_roots, _own_root, _torch_root or _own_root)


@lru_cache(maxsize=4096)
def layer_of(filename: str) -> Layer:
    """Tell whose file this is: torch's (or ours), a library's, or the user's."""
    if filename.startswith("<") and not filename.startswith(("<stdin", "<ipython", "<string")):
        return "torch"
    if _torch_root and filename.startswith(_torch_root):
        return "torch"
    # As it is called before as it is really: that takes a system call for each folder on the way, and some installers
    # fill a library's folder with links to files that lie elsewhere.
    if filename.startswith(_library_roots) and not filename.startswith(_own_root):
        return "library"
    if filename.startswith(_own_root):
        return "torch"
    if f"-packages{os.sep}" in filename:
        return "library"  # Debian keeps its own in a folder that Python does not name
    real = os.path.realpath(filename)
    if real.startswith(_own_root):
        return "torch"
    return "library" if real.startswith(_library_roots) else "user"


def user_sites(frame: FrameType | None, *, limit: int = STACK_LIMIT) -> tuple[Site, ...]:
    """Return the user's frames from `frame` outwards, innermost first; a library's when there is no other."""
    found: list[Site] = []
    library: list[Site] = []
    while frame is not None and len(found) < limit:
        layer = layer_of(frame.f_code.co_filename)
        if layer == "user":
            found.append(Site(frame.f_code, frame.f_lasti))
        elif layer == "library" and not library:
            library.append(Site(frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found or library)


def calling_span() -> SourceSpan | None:
    """Return the innermost expression of the user's program that is running now."""
    sites = user_sites(sys._getframe(1))
    return span_of(sites[0]) if sites else None


@lru_cache(maxsize=4096)
def span_of(site: Site) -> SourceSpan:
    """Return the exact stretch of source that `site` was executing."""
    line, end_line, column, end_column = _position(site)
    code = site.code
    if end_line is not None and end_line > line and _is_loop_header(code.co_filename, line):
        # Python gives a `for` that fetches its next item the whole loop as position; the header is meant.
        end_line, end_column = line, len(linecache.getline(code.co_filename, line).rstrip())
    return SourceSpan(
        file=shown_path(code.co_filename),
        line=line,
        end_line=end_line,
        column=column,
        end_column=end_column,
        function=code.co_name,
        expression=source_between(code.co_filename, (line, end_line, column, end_column)),
    )


def _is_loop_header(filename: str, line: int) -> bool:
    return linecache.getline(filename, line).lstrip().startswith(("for ", "async for "))


def _position(site: Site) -> tuple[int, int | None, int | None, int | None]:
    code, instruction = site
    if sys.version_info >= (3, 11):
        index = instruction // 2
        position = next(islice(code.co_positions(), index, None), None) if index >= 0 else None
        if position is not None and position[0] is not None:
            line, end_line, column, end_column = position
            return (
                line or code.co_firstlineno,
                end_line,
                *_in_characters(code, line, column),
                *(_in_characters(code, end_line, end_column)),
            )
        return code.co_firstlineno, None, None, None
    return _position_by_executing(code, instruction)


def _in_characters(code: CodeType, line: int | None, column: int | None) -> tuple[int | None]:
    """Turn a column in UTF-8 bytes, which Python gives, into one in characters, which people count."""
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


def source_between(
    filename: str, position: tuple[int, int | None, int | None, int | None]
) -> str | None:
    """Return the text of a stretch of source; the whole line when the columns are unknown."""
    line, end_line, column, end_column = position
    lines = linecache.getlines(filename)[line - 1 : end_line or line]
    if not lines:
        return None
    if column is not None and end_column is not None:
        lines[-1] = lines[-1][:end_column]
        lines[0] = " " * column + lines[0][column:]
    # A single line, the usual case, needs no `dedent`: that makes a regular expression of every margin.
    text = lines[0].strip() if len(lines) == 1 else textwrap.dedent("".join(lines)).strip()
    return text if len(text) <= EXPRESSION_LIMIT else text[:EXPRESSION_LIMIT] + "…"


@lru_cache(maxsize=4096)
def shown_path(filename: str) -> str:
    """Return a path relative to the directory the program was started in, where it lies inside."""
    if filename.startswith("<"):
        return filename
    absolute = os.path.normpath(os.path.join(_start_directory, filename))  # noqa: PTH118 - five times as fast
    relative = os.path.relpath(absolute, _start_directory)
    return absolute if relative.startswith("..") else relative


def restart_in(directory: str) -> None:
    """Make `directory` the one paths are shown relative to."""
    global _start_directory  # noqa: PLW0603 - set once per program
    _start_directory = directory
    span_of.cache_clear()
    shown_path.cache_clear()
