"""The user's own files that the new program imports, which are copied beside it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import PurePosixPath

from torchwhy.reproduce.copied_statements import CannotCutError
from torchwhy.source.edits import Source


class ImportedFiles:
    """Follows imports through the recorded files; `copied` has their names beside the new program."""

    def __init__(self, files: Mapping[str, Source], script: str) -> None:
        self._files = files
        self._folder = PurePosixPath(script).parent
        self.copied: dict[str, str] = {}

    def follow(self, statement: ast.Import | ast.ImportFrom) -> None:
        """Note the files that an import of the script reads, and those that they import."""
        if isinstance(statement, ast.ImportFrom) and statement.level:
            raise CannotCutError("the program is part of a package and imports relatively")
        words = [alias.name for alias in statement.names]
        if isinstance(statement, ast.ImportFrom):
            module = statement.module or ""
            words = [module, *(f"{module}.{word}" for word in words)]
        for word in words:
            parts = word.split(".")
            for count in range(1, len(parts) + 1):
                self._add(self._folder.joinpath(*parts[:count]))

    def _add(self, path: PurePosixPath) -> None:
        for file in (f"{path}.py", f"{path}/__init__.py"):
            source = self._files.get(file)
            if source is None or file in self.copied:
                continue
            self.copied[file] = self._beside(file)
            for one in ast.walk(source.tree):
                if isinstance(one, ast.ImportFrom) and one.level:
                    self._follow_relative(one, file)
                elif isinstance(one, (ast.Import, ast.ImportFrom)):
                    self.follow(one)

    def _follow_relative(self, statement: ast.ImportFrom, file: str) -> None:
        folders = PurePosixPath(file).parents
        base = folders[min(statement.level, len(folders)) - 1]
        base /= (statement.module or "").replace(".", "/")
        for path in (base, *(base / alias.name for alias in statement.names)):
            self._add(path)

    def _beside(self, file: str) -> str:
        """Return the name of a file in the new folder: the same from the folder of the script on."""
        path = PurePosixPath(file)
        if not path.is_relative_to(self._folder) or ".." in path.relative_to(self._folder).parts:
            raise CannotCutError(f"{file} does not lie beside the script")
        return str(path.relative_to(self._folder))
