"""In a trial: files of the program are loaded from edited copies, under their own names and places.

`overlay.json` in the run directory maps absolute paths to copies. Imports, the script itself, `-m` and spawned
workers all get the edited text; tracebacks and `inspect` see its lines; the files on disk stay as they are.
"""

from __future__ import annotations

import json
import linecache
import os
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

from torchwhy.observe.torch_features.interpreter import replace_reading, run_main_once

OVERLAY_FILE = "overlay.json"


def install(run_directory: str) -> None:
    """Put the edited texts in place of the files that `overlay.json` names."""
    with open(os.path.join(run_directory, OVERLAY_FILE), encoding="utf-8") as listed:
        copies = json.load(listed)
    overlay = Overlay(copies)
    overlay.replace_imports()
    overlay.replace_script(sys.argv[0] if sys.argv else "")


class Overlay:
    """The edited texts by the real paths of the files they stand for."""

    def __init__(self, copies: dict[str, str]) -> None:
        self._copies = {os.path.realpath(path): copy for path, copy in copies.items()}

    def code_of(self, path: str) -> CodeType | None:
        """Return the edited code of a file, None for a file that is not edited."""
        copy = self._copies.get(os.path.realpath(path))
        if copy is None:
            return None
        with open(copy, "rb") as edited:
            source = edited.read()
        code: CodeType = compile(source, path, "exec", dont_inherit=True)
        text = _decoded(source)
        # Without a time of change an entry is never compared with the file on disk.
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        return code

    def replace_imports(self) -> None:
        """Make every import, `-m` and `runpy.run_path` (which spawned workers use) ask here first."""
        load = SourceFileLoader.get_code

        def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
            return self.code_of(loader.get_filename(name)) or load(loader, name)

        def reading(read: Callable[..., Any]) -> Callable[..., Any]:
            def get_code_from_file(*args: Any) -> Any:
                code = self.code_of(os.path.abspath(args[-1]))
                if code is None:
                    return read(*args)
                # Older Pythons are given the module's name first, and return the file's name as well.
                return (code, args[-1]) if len(args) > 1 else code

            return get_code_from_file

        replace_reading(reading)
        SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]

    def replace_script(self, script: str) -> None:
        """Have the interpreter run the script through us: it takes a path with an importer for a zipped program."""
        path = os.path.abspath(script)
        if os.path.realpath(path) not in self._copies:
            return
        run_main_once(lambda: self._run_as_main(path))
        sys.path_importer_cache[path] = _NoImporter()

    def _run_as_main(self, path: str) -> None:
        sys.path_importer_cache.pop(path, None)
        if sys.path and sys.path[0] == path:
            if getattr(sys.flags, "safe_path", False):
                del sys.path[0]
            else:
                sys.path[0] = os.path.dirname(os.path.realpath(path))
        main = sys.modules["__main__"].__dict__
        main.update(__file__=path, __cached__=None, __spec__=None, __package__=None)
        main["__loader__"] = SourceFileLoader("__main__", path)
        code = self.code_of(path)
        assert code is not None
        exec(code, main)  # noqa: S102 - the user's own program


class _NoImporter:
    """Marks a path as one that has an importer; finds nothing."""

    def find_spec(self, *_: object) -> None:
        """Find nothing."""

    def invalidate_caches(self) -> None:
        """Have no caches."""


def _decoded(source: bytes) -> str:
    from importlib.util import decode_source

    return decode_source(source)
