"""Source lines wider than the terminal: the part that matters is shown, not the beginning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

BEFORE = 12  # Columns of context before the part that matters.
CUT = "…"


def first_column(text: str, start: int, end: int, width: int) -> int:
    """Return the first column to show so that `start` to `end` is in view; 0 if the line's beginning shows it."""
    if len(text) <= width or end < width:
        return 0
    return max(0, min(start - BEFORE, len(text) - width))


@dataclass(frozen=True)
class SourceLine:
    """One line after a margin, with carets under the columns from `start` to `end`."""

    margin: str
    text: str
    start: int
    end: int
    style: str

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        begin = first_column(self.text, self.start, self.end, options.max_width - len(self.margin))
        code = Text(self.margin, style="dim", no_wrap=True, overflow="ellipsis")
        code.append(_from(self.text, begin), style="not dim")
        yield code
        if self.end > self.start:
            blank = " " * (len(self.margin) - 2) + self.margin[-2:]
            under = Text(blank, style="dim", no_wrap=True, overflow="crop")
            under.append(" " * (self.start - begin), style="not dim")
            under.append("^" * (self.end - self.start), style=f"not dim {self.style}")
            yield under


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
