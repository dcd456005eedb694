"""Finds the modules of the program quickly among thousands: its script, and its own imports."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from torchwhy.source.edits import Source
from torchwhy.source.files import cells, foreign_roots, layer_of, loaded

MOST_FILES = 200  # of the program that are read

_foreign: set[str] = (
    set()
)  # packages of others: nearly all of two thousand modules lie in some hundred of these
_own: set[str] = set()
_last: tuple[object, list[ModuleType]] | None = None


def user_modules() -> list[ModuleType]:
    """Return the program's own modules in the order of their import; searched again after a new import."""
    global _last  # noqa: PLW0603 - the last answer
    known = (
        len(sys.modules),
        sys.modules.get("__main__"),
        next(reversed(sys.modules.values()), None),
    )
    if _last is None or _last[0] != known:
        _last = (known, _search())
    return _last[1]


def _search() -> list[ModuleType]:
    found = []
    for name, module in list(sys.modules.items()):
        package = name.partition(".")[0]
        if package in _foreign:
            continue
        if package not in _own:
            # A folder without `__init__.py` is a package without a file.
            above = _file_of(sys.modules.get(package))
            if package in sys.builtin_module_names or (above and _is_foreign(above)):
                _foreign.add(package)
                continue
            _own.add(package)
        if type(module) is ModuleType and (name == "__main__" or not _is_foreign(_file_of(module))):
            found.append(module)
    return found


def user_files() -> list[str]:
    """Return the files of the program's own modules, each once; in a notebook its cells first, the last one before."""
    files = (*reversed(cells()), *(_file_of(module) for module in user_modules()))
    return [file for file in dict.fromkeys(files) if file and not _is_foreign(file)][:MOST_FILES]


def user_sources() -> list[Source]:
    """Return the files of the program's own modules that have a text."""
    return [source for source in map(loaded, user_files()) if source is not None]


def _file_of(module: object) -> str:
    filename = getattr(module, "__dict__", {}).get("__file__")
    if filename is None and module is not None and module is sys.modules.get("__main__"):
        return _script()
    return filename if isinstance(filename, str) else ""


def _script() -> str:
    """Return the file of the program itself; at exit, Python has removed its name from the module."""
    loader = getattr(sys.modules.get("__main__"), "__loader__", None)
    filename = getattr(loader, "path", None) or (getattr(sys, "argv", None) or [""])[0]
    path = Path(filename).absolute() if isinstance(filename, str) and filename else None
    return str(path) if path is not None and path.is_file() else ""


def _is_foreign(filename: str) -> bool:
    """Tell whether a file is not the program's, by its name first; built-in modules have no file."""
    return not filename or filename.startswith(foreign_roots()) or layer_of(filename) != "user"
