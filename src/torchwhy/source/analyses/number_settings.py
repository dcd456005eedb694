"""Finds where the user sets a number outside the source: the command line, the environment, a settings file."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchwhy.source.analyses.written_numbers import attribute_of, chain_of, option_names
from torchwhy.source.calls import word_of
from torchwhy.source.edits import Source

SETTINGS_FILE = re.compile(r"[\w./-]+\.(?:ya?ml|json|toml|ini|cfg|conf)")
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
# `lr: 0.1`, `"lr": 0.1`, `lr = 0.1` on a line of a settings file.
ENTRY = re.compile(rf"""["']?(?P<key>[\w.-]+)["']?\s*[:=]\s*["']?(?P<number>{NUMBER})(?![\w.])""")


class CommandWord(NamedTuple):
    """A number in the command: the position of its word, and the text before it in that word (`--lr=`)."""

    position: int
    before: str
    option: str


class Entry(NamedTuple):
    """A number in a settings file, from `start` to `end` of its text."""

    source: Source
    start: int
    end: int


def names_of(source: Source, given: ast.expr) -> set[str]:
    """Return the names under which a program passes on a number: variables, attributes, keys and options."""
    found: set[str] = set()
    for file, node in chain_of(source, given):
        found |= set(_names_in(node))
        for call in file.calls("add_argument", "option", "Option"):
            names = option_names(call)
            found |= names if names & found else set()
    return found


def _names_in(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        yield str(node.slice.value)
    elif isinstance(node, ast.Call) and word_of(node) in ("get", "getattr", "getenv"):
        yield from (
            one.value
            for one in node.args
            if isinstance(one, ast.Constant) and isinstance(one.value, str)
        )


def on_command_line(source: Source, given: ast.expr, *, actual: float | None) -> CommandWord | None:
    """Return the word of the command that sets a number; None if there is none, or if several may.

    `actual` is the number that the program used.
    """
    names = names_of(source, given)
    words = list(_numbers(source.command))
    named = [(word, number) for word, number in words if _is_named(word.option, names)]
    if not named and _reads_arguments(source, given):
        named = words
    fitting = [word for word, number in named if actual is None or _same(number, actual)]
    return fitting[-1] if len({word.option for word in fitting}) == 1 else None


def _numbers(command: Sequence[str]) -> Iterator[tuple[CommandWord, float]]:
    """Yield the numbers in a command with the option of each: `--lr 0.1`, `--lr=0.1`, `optim.lr=0.1`."""
    for position, word in enumerate(command):
        option, equals, value = word.rpartition("=")
        number = _number(value)
        if number is None:
            continue
        before = command[position - 1] if position and not equals else option
        is_option = bool(equals) or before.startswith("-")
        yield CommandWord(position, option + equals, before if is_option else ""), number


def _is_named(option: str, names: set[str]) -> bool:
    attribute = attribute_of(option)
    return bool(attribute) and (attribute in names or attribute.rpartition(".")[2] in names)


def _reads_arguments(source: Source, given: ast.expr) -> bool:
    return any(
        isinstance(part, ast.Attribute) and part.attr == "argv"
        for _, node in chain_of(source, given)
        for part in ast.walk(node)
    )


def variable_of(source: Source, given: ast.expr) -> str | None:
    """Return the environment variable that a number comes from: `LR` for `os.environ.get("LR")`."""
    for file, node in chain_of(source, given):
        for part in ast.walk(node):
            key: ast.expr | None = None
            if isinstance(part, ast.Call) and part.args:
                text = file.of(part.func)
                key = part.args[0] if text.endswith(("environ.get", "getenv")) else None
            elif isinstance(part, ast.Subscript) and file.of(part.value).endswith("environ"):
                key = part.slice
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                return key.value
    return None


def in_settings_file(source: Source, given: ast.expr, *, actual: float | None) -> Entry | None:
    """Return the entry of a settings file that sets a number; None if not exactly one fits."""
    names = names_of(source, given)
    files = dict.fromkeys(SETTINGS_FILE.findall("\n".join((*source.command, source.text))))
    found: list[Entry] = []
    for name in files:
        opened = source.others(name)
        for entry in ENTRY.finditer(opened.text) if opened is not None else ():
            number = float(entry["number"])
            fits = actual is None or _same(number, actual)
            if opened is not None and fits and entry["key"].rpartition(".")[2] in names:
                found.append(Entry(opened, entry.start("number"), entry.end("number")))
    return found[0] if len(found) == 1 else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _same(number: float, actual: float) -> bool:
    return math.isclose(number, actual, rel_tol=1e-6)
