"""Source lines wider than the terminal: the part that matters is shown, not the beginning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from torchwhy.plain_data import dataclass

BEFORE = 12  # Columns of context before the part that matters.
CUT = "…"


def first_column(text: str, start: int, end: int, width: int) -> int:
    """Return the first column to show so that `start` to `end` is in view; 0 if the line's beginning shows it."""
    if len(text) <= width or end < width:
        return 0
    return max(0, min(start - BEFORE, len(text) - width))


@dataclass(frozen=True)
class SourceLine:
    """One line after a margin, with carets under the columns from `start` to `end` and labels under some of them."""

    margin: str
    text: str
    start: int
    end: int
    style: str
    labels: tuple[tuple[int, str], ...] = ()

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        begin = first_column(self.text, self.start, self.end, options.max_width - len(self.margin))
        code = Text(self.margin, style="dim", no_wrap=True, overflow="ellipsis")
        is_marked = self.end > self.start
        code.append(_from(self.text, begin), style="not dim" if is_marked else "")
        yield code
        if is_marked:
            under = self._blank("crop")
            under.append(" " * (self.start - begin), style="not dim")
            under.append("^" * (self.end - self.start), style=f"not dim {self.style}")
            yield under
        yield from self._labels(begin, options.max_width - len(self.margin))

    def _labels(self, begin: int, width: int) -> Iterator[Text]:
        """Yield a line for each label, the rightmost first, so that the others' strokes pass it on the left."""
        labels = sorted((max(0, column - begin), words) for column, words in self.labels)
        while labels:
            column, words = labels.pop()
            strokes = {other for other, _ in labels}
            fits_right = column + 2 + len(words) <= width
            room = column if fits_right else max(0, column - len(words) - 1)
            line = self._blank("ellipsis")
            before = "".join("│" if place in strokes else " " for place in range(room))
            line.append(before, style=f"not dim {self.style}")
            line.append("└ " if fits_right else "", style=f"not dim {self.style}")
            line.append(words, style="not dim bold")
            line.append("" if fits_right else " ┘", style=f"not dim {self.style}")
            yield line

    def _blank(self, overflow: Literal["crop", "ellipsis"]) -> Text:
        blank = " " * (len(self.margin) - 2) + self.margin[-2:]
        return Text(blank, style="dim", no_wrap=True, overflow=overflow)


@dataclass(frozen=True)
class DiffLines:
    """The lines of a diff; if a changed line is too long, both versions show the change."""

    lines: tuple[str, ...]

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        for line, (start, end) in zip(self.lines, changes_in(self.lines), strict=True):
            style = {"-": "red", "+": "green"}.get(line[:1], "dim")
            begin = first_column(line[1:], start, end, options.max_width - 1)
            shown = line[:1] + _from(line[1:], begin)
            yield Text(shown, style=style, no_wrap=True, overflow="ellipsis")


def diff_lines(diff: str, usual_file: str | None) -> list[str]:
    """Return the changed lines; if they are in several places or another file, with the file and line of each.

    Around lines that are replaced the context is left out, because the report shows the source already; lines that
    are only added keep it, which tells where they go.
    """
    hunks = list(_hunks(diff))
    shown: list[str] = []
    for file, line, hunk in hunks:
        first, last = _changed_part(hunk)
        if len(hunks) > 1 or usual_file not in (None, file):
            shown.append(f"@@ {file}:{line + first}")
        shown += hunk[first:last]
    return shown


def _hunks(diff: str) -> Iterator[tuple[str, int, list[str]]]:
    """Yield the file, the first line and the lines of each part of a unified diff."""
    file = ""
    hunk: tuple[str, int, list[str]] | None = None
    for line in diff.rstrip().splitlines():
        if line.startswith("+++ "):
            file = line[4:].split("\t")[0].removeprefix("b/")
        elif line.startswith("@@"):
            if hunk is not None:
                yield hunk
            start = line.partition("+")[2].partition(" ")[0].partition(",")[0]
            hunk = file, int(start) if start.isdecimal() else 0, []
        elif hunk is not None and not line.startswith("--- "):
            hunk[2].append(line)
    if hunk is not None:
        yield hunk


def _changed_part(hunk: Sequence[str]) -> tuple[int, int]:
    """Return the range of lines from the first change to the last, or of all if nothing is removed."""
    changed = [place for place, line in enumerate(hunk) if line[:1] in ("-", "+")]
    if not any(line.startswith("-") for line in hunk):
        return 0, len(hunk)
    return changed[0], changed[-1] + 1


def changes_in(lines: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Yield for every line of a diff the columns that differ from its other version; (0, 0) if it has none."""
    for number, line in enumerate(lines):
        sign = line[:1]
        step = {"-": 1, "+": -1}.get(sign, 0)
        other = number + step
        if step and 0 <= other < len(lines) and lines[other][:1] == ("+" if sign == "-" else "-"):
            yield _difference(line[1:], lines[other][1:])
        else:
            yield 0, 0


def _difference(one: str, other: str) -> tuple[int, int]:
    shortest = min(len(one), len(other))
    start = next((i for i in range(shortest) if one[i] != other[i]), shortest)
    same = 0
    while same < shortest - start and one[-1 - same] == other[-1 - same]:
        same += 1
    return start, len(one) - same


def _from(text: str, begin: int) -> str:
    return text if not begin else CUT + text[begin + 1 :]
