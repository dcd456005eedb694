"""Which findings the user has silenced: by `--allow`, by `[tool.torchwhy]`, or by a comment on the guilty line."""

from __future__ import annotations

import io
import os
import re
import tokenize
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from torchwhy.finding import Finding, Silenced, SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.trace import Trace

MARK = "torchwhy:"
NAME = r"[a-z0-9][a-z0-9-]*"
COMMENT = re.compile(rf"#\s*{MARK}\s*allow\s+({NAME}(?:\s*,\s*{NAME})*)")
LINE = re.compile(r":(\d+)$")


@dataclass(frozen=True)
class Allowance:
    """A cause that is allowed everywhere, in the files of a pattern, or in one line of them."""

    name: str
    pattern: str | None = None
    line: int | None = None

    def covers(self, finding: Finding, directory: Path) -> bool:
        """Tell whether a finding is allowed; patterns and relative names begin at `directory`."""
        if finding.detector != self.name:
            return False
        if self.pattern is None:
            return True
        place = finding.location
        if place is None or (self.line is not None and self.line not in _lines(place)):
            return False
        return fnmatchcase(_whole(place.file, directory), _whole(self.pattern, directory))


def parsed(text: str) -> Allowance:
    """Return the allowance that a user writes as `NAME`, `NAME@FILE` or `NAME@FILE:LINE`."""
    name, _, place = text.partition("@")
    line = LINE.search(place)
    pattern = place[: line.start()] if line is not None else place
    return Allowance(name.strip(), pattern or None, None if line is None else int(line[1]))


class Allowances:
    """Everything that is allowed in a run: the words of its options, and the comments of its source."""

    def __init__(self, words: Sequence[str], directory: Path) -> None:
        self._given = [parsed(word) for word in words]
        self._directory = directory
        self._comments: dict[str, dict[int, _Comment]] = {}

    def with_comments_of(self, traces: Sequence[Trace]) -> Allowances:
        """Return these, and the comments in the files of the program as they ran."""
        for trace in traces:
            for file, source in trace.files.items():
                if MARK in source.text:
                    comments = dict(_comments(source.text))
                    self._comments[_whole(file, self._directory)] = comments
        return self

    def silenced(self, finding: Finding) -> Silenced | None:
        """Return a finding as a silenced one if it is allowed; None if it is not."""
        if any(one.covers(finding, self._directory) for one in self._given):
            return Silenced(finding.detector, finding.severity, finding.location, by="option")
        place = finding.location
        if place is not None and finding.detector in self._allowed_beside(place):
            return Silenced(finding.detector, finding.severity, place, by="comment")
        return None

    def _allowed_beside(self, place: SourceSpan) -> set[str]:
        """Return the causes that comments allow: on the lines of the place, or alone on the lines above it."""
        comments = self._comments.get(_whole(place.file, self._directory), {})
        names = {
            name for line in _lines(place) if line in comments for name in comments[line].names
        }
        above = place.line - 1
        while above in comments and comments[above].is_alone:
            names.update(comments[above].names)
            above -= 1
        return names


@dataclass(frozen=True)
class _Comment:
    """A comment: the causes that it allows, and whether it has its line to itself."""

    names: tuple[str, ...]
    is_alone: bool


def _comments(text: str) -> Iterator[tuple[int, _Comment]]:
    """Yield the comments of a file, each with its line; of one that is no Python, those before the fault."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found = COMMENT.search(token.string)
                names = () if found is None else tuple(re.findall(NAME, found[1]))
                is_alone = not token.line[: token.start[1]].strip()
                yield token.start[0], _Comment(names, is_alone)
    except (tokenize.TokenError, SyntaxError):
        return


def _lines(place: SourceSpan) -> range:
    return range(place.line, (place.end_line or place.line) + 1)


def _whole(file: str, directory: Path) -> str:
    return os.path.normpath(os.path.join(directory, file))  # noqa: PTH118 (a pattern is no path)
