"""The program's files: which are the user's own, how findings call them, and their text as it runs."""

from __future__ import annotations

import ast
import hashlib
import linecache
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import decode_source
from pathlib import Path
from types import CodeType
from typing import Literal

from torchwhy.finding import SourceSpan
from torchwhy.source.edits import Source
from torchwhy.source.scopes import Function, function_of_code

Layer = Literal["torch", "library", "user"]

_torch_root = ""
_own_root = str(Path(__file__).resolve().parents[1]) + os.sep
_library_roots = tuple(
    {
        os.path.realpath(sysconfig.get_path(name)) + os.sep
        for name in ("stdlib", "purelib", "platlib")
    }
)
_start_directory = str(Path.cwd())
_name_of_cell: Callable[[str], str | None] = lambda _filename: None  # noqa: E731 - outside of a notebook


def name_cells(name_of: Callable[[str], str | None]) -> None:
    """Learn how to call the cells of a notebook: `name_of` returns `In [7]` for a cell's file name."""
    global _name_of_cell  # noqa: PLW0603 - set once per notebook
    _name_of_cell = name_of


def cells() -> list[str]:
    """Return the file names of the notebook's cells that ran, oldest first."""
    return [filename for filename in list(linecache.cache) if _name_of_cell(filename)]


def text_of_cell(name: str) -> str | None:
    """Return the text of the cell that is called `In [7]`; None outside of its notebook."""
    lines = (linecache.getlines(one) for one in reversed(cells()) if _name_of_cell(one) == name)
    return next(("".join(text) for text in lines), None)


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


def is_own(filename: str) -> bool:
    """Tell whether a file belongs to torchwhy."""
    return filename.startswith(_own_root)


@lru_cache(maxsize=4096)
def shown_path(filename: str) -> str:
    """Return a path relative to the directory the program was started in, where it lies inside."""
    cell = _name_of_cell(filename)
    if cell is not None or filename.startswith("<"):
        return cell or filename
    absolute = os.path.normpath(os.path.join(_start_directory, filename))  # noqa: PTH118 - five times as fast
    relative = os.path.relpath(absolute, _start_directory)
    return absolute if relative.startswith("..") else relative


@lru_cache(maxsize=1024)
def package_path(filename: str) -> str:
    """Return the path of a library's file from its package on: `gpytorch/kernels/rbf_kernel.py`."""
    roots = {*_library_roots, f"{Path(_torch_root).parent}{os.sep}"}
    for root in sorted(roots, key=len, reverse=True):
        if len(root) > 1 and filename.startswith(root):
            return filename[len(root) :]
    before, packages, after = filename.rpartition(f"-packages{os.sep}")
    return after if before and packages else shown_path(filename)


def restart_in(directory: str) -> None:
    """Make `directory` the one paths are shown relative to."""
    global _start_directory  # noqa: PLW0603 - set once per program
    _start_directory = directory
    shown_path.cache_clear()
    loaded.cache_clear()


@lru_cache(maxsize=256)
def loaded(filename: str) -> Source | None:
    """Return a file of the running program, or a cell of a notebook; None if it has no text."""
    lines = linecache.getlines(filename)
    return Source(shown_path(filename), "".join(lines)) if lines else None


def scope_of(code: CodeType) -> Function | ast.Module | None:
    """Return the function that a code object was made from, or its whole file."""
    source = loaded(code.co_filename)
    if source is None:
        return None
    return function_of_code(source.tree, code.co_name, code.co_firstlineno)


def span_in(code: CodeType, node: ast.AST) -> SourceSpan:
    """Return the place of a piece of syntax in the function of a code object."""
    source = loaded(code.co_filename)
    assert source is not None, "the syntax came from its text"
    return source.span(node, code.co_name)


def fingerprint_of(filename: str, text: str) -> str:
    """Return the fingerprint of a file on disk that holds this text; where it holds another by now, of the text."""
    try:
        content = Path(filename).read_bytes()
        # The line cache, from which the text is, ends every last line.
        if decode_source(content).rstrip("\n") == text.rstrip("\n"):
            return digest(content)
    except (OSError, SyntaxError, ValueError):
        pass  # a cell, a file in an archive, or one that was removed
    return digest(text.encode())


def digest(content: bytes) -> str:
    """Return the fingerprint of a file's content."""
    return hashlib.sha256(content).hexdigest()
