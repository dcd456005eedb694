"""`[tool.torchwhy]` of the nearest pyproject.toml, as words that stand before those of the command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchwhy.errors import UsageError

if TYPE_CHECKING:
    from torchwhy.commands import Parser

FILE = "pyproject.toml"
TABLE = b"torchwhy"
NOTEBOOK = ".ipynb"
HINT = "; settings are named as the options of `torchwhy run` and `torchwhy check`."


def words_of_settings(parser: Parser, program: list[str]) -> list[str]:
    """Return the settings of the project as options of this command; those of other commands are left out."""
    if program and program[0].endswith(NOTEBOOK):
        return []  # Its cells are runs of their own, which take few options.
    found = find_settings(folder_of(program))
    if found is None:
        return []
    path, settings = found
    known = _known_options()
    words: list[str] = []
    for key, value in settings.items():
        if f"--{key}" not in known:
            from torchwhy.commands.guidance.suggestions import did_you_mean

            near = did_you_mean(key, [name.removeprefix("--") for name in known])
            raise _wrong(path, f"there is no setting {key!r}{near or HINT}")
        words_of_key = list(_words(path, known[f"--{key}"], key, value))
        if f"--{key}" in parser.options:
            words += words_of_key
    try:
        parser.parse(words)
    except UsageError as problem:
        raise _wrong(path, problem.message) from None
    return words


def folder_of(program: list[str]) -> Path:
    """Return the folder of a script; of a module or another command, the one it is started in."""
    if program and (script := Path(program[0])).is_file() and script.suffix in (".py", ".pyw"):
        return script.absolute().parent
    return Path.cwd()


def find_settings(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """Return the nearest pyproject.toml at or above a folder that has settings for torchwhy, and these."""
    for place in (folder, *folder.parents):
        path = place / FILE
        try:
            text = path.read_bytes()
        except OSError:
            continue
        if TABLE not in text:  # Reading TOML takes longer than starting torchwhy.
            continue
        settings = _table(path, text)
        if settings is not None:
            return path, settings
    return None


def _table(path: Path, text: bytes) -> dict[str, Any] | None:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        tools = tomllib.loads(text.decode()).get("tool", {})
    except ValueError as problem:
        raise _wrong(path, f"it is not valid TOML: {problem}.") from None
    settings = tools.get("torchwhy") if isinstance(tools, dict) else None
    return settings if isinstance(settings, dict) else None


def _known_options() -> dict[str, argparse.Action]:
    """Return the options that can be settings, by name."""
    from torchwhy.commands import Parser, checkup, run

    known: dict[str, argparse.Action] = {}
    for module in (run, checkup):
        parser = Parser(add_help=False)
        module.configure(parser)
        known |= parser.options
    return known


def _words(path: Path, action: argparse.Action, key: str, value: Any) -> Iterator[str]:
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise _wrong(path, f"`{key}` is true or false.")
        yield from [f"--{key}"] if value else []
    elif key == "allow":
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise _wrong(path, f"`{key}` is a list of strings.")
        yield from (f"--{key}={_from_the_folder_of(path, one)}" for one in value)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield f"--{key}={value}"
    else:
        raise _wrong(path, f"`{key}` is a string or a number.")


def _from_the_folder_of(path: Path, word: str) -> str:
    """Return `NAME@FILE` with a file that is relative to the settings, not to where the program is started."""
    name, at, file = word.partition("@")
    return name if not at else f"{name}@{os.path.join(path.parent, file)}"  # noqa: PTH118


def _wrong(path: Path, why: str) -> UsageError:
    return UsageError(f"[tool.torchwhy] in {os.path.relpath(path)}: {why}", slug="wrong-setting")
