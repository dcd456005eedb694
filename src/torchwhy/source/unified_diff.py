"""Unified diffs as data: which lines of which file are replaced by which."""

from __future__ import annotations

import re

from torchwhy.plain_data import dataclass
from torchwhy.source.text import split_lines

HUNK = re.compile(r"@@ -(?P<line>\d+)(?:,(?P<count>\d+))? \+\d+(?:,\d+)? @@")


@dataclass(frozen=True)
class Hunk:
    """A replacement of the lines `before`, which start at `line` (counted from 1), by `after`."""

    line: int
    before: tuple[str, ...]
    after: tuple[str, ...]


def changed_files(diff: str) -> dict[str, list[Hunk]]:
    """Return the hunks of a unified diff by file name, without the `a/` that tools prepend."""
    files: dict[str, list[Hunk]] = {}
    name = None
    lines = [line.rstrip("\r\n") for line in split_lines(diff)]
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line.startswith("--- ") and following.startswith("+++ "):
            name = re.sub(r"^[ab]/", "", following[4:].split("\t")[0])
            files[name] = []
        elif name is not None and (head := HUNK.match(line)):
            files[name].append(_hunk(lines[number + 1 :], head))
    return files


def _hunk(lines: list[str], head: re.Match[str]) -> Hunk:
    before: list[str] = []
    after: list[str] = []
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line.startswith("@@ ") or (line.startswith("--- ") and following.startswith("+++ ")):
            break
        if line.startswith("\\"):
            continue
        if not line.startswith("+"):
            before.append(line[1:])
        if not line.startswith("-"):
            after.append(line[1:])
    # A hunk that only inserts counts from the line before the place.
    line_number = int(head["line"]) + (head["count"] == "0")
    return Hunk(line_number, tuple(before), tuple(after))
