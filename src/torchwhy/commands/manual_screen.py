"""Manual pages and lists of causes for the terminal: what, why and fix on the first screen, then the programs."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import Markdown
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from torchwhy.detect.manuals.page import DIFF_HEAD, FENCE, Manual
from torchwhy.plain_data import dataclass

# In screen order; a page of another package may have further sections.
TITLES = {
    "What it finds": "What it finds",
    "Why it breaks training": "Why it breaks training",
    "Repaired": "Fix",
    "Broken": "Broken",
    "Lookalike": "Healthy lookalike, not reported",
    "Limits": "Limits",
}
HEADING = "bold yellow"
MARK = re.compile(r"# <- .*")
DIFF_STYLES = {"+": "green", "-": "red"}
SUMMARY_COLUMNS = 36  # With less room beside the names, the summaries go below them.


def page_parts(manual: Manual, group: str) -> Iterator[RenderableType]:
    """Yield a page from top to bottom."""
    yield Rule(Text(manual.name, style="bold"), align="left", characters="─")
    yield Padding(Markdown(manual.summary, style="bold"), (1, 2, 0, 2))
    yield Padding(Text(f"Seen as: {group}", style="dim"), (0, 2))
    several = manual.sections.get("Broken", "").count("```python") > 1
    for section in sorted(manual.sections, key=_place):
        yield ""
        yield Text(TITLES.get(section, section), style=HEADING)
        numbered = several and section in ("Broken", "Repaired")
        blocks = list(_blocks(manual.sections[section], numbered=numbered))
        for position, block in enumerate(blocks):
            yield Padding(block, (0 if position == 0 else 1, 2, 0, 2))


def _place(section: str) -> int:
    known = list(TITLES)
    return known.index(section) if section in known else len(known)


def _blocks(body: str, *, numbered: bool) -> Iterator[RenderableType]:
    """Yield the prose and the programs of a section in turn."""
    position = 0
    for number, fence in enumerate(FENCE.finditer(body), start=1):
        yield from _prose(body[position : fence.start()])
        if fence["language"] == "diff":
            yield _diff(fence["body"], numbered=numbered)
        else:
            yield _program(f"# program {number}\n" if numbered else "", fence["body"])
        position = fence.end()
    yield from _prose(body[position:])


def _prose(text: str) -> Iterator[RenderableType]:
    if text.strip():
        yield Markdown(text)


def _program(head: str, text: str) -> RenderableType:
    """Return the program in colour, with the mark of the line at fault in red."""
    code = head + text.rstrip()
    shown = Syntax(code, "python", theme="ansi_dark", background_color="default", word_wrap=True)
    for number, line in enumerate(code.splitlines(), start=1):
        mark = MARK.search(line)
        if mark is not None:
            shown.stylize_range("bold red", (number, mark.start()), (number, len(line)))
    return Padding(shown, (0, 0, 0, 2))


def _diff(body: str, *, numbered: bool) -> RenderableType:
    """Return a diff with `…` for the lines between two hunks."""
    head = DIFF_HEAD.match(body)
    lines = Text(f"# program {head['number']}\n" if head and numbered else "", style="dim")
    for line in _dedented(body[head.end() :] if head else body):
        shown = "…" if line == "@@" else line
        lines.append(f"{shown}\n", style=f"not dim {DIFF_STYLES.get(line[:1], '')}")
    lines.rstrip()
    return Padding(lines, (0, 0, 0, 2))


def _dedented(hunks: str) -> list[str]:
    """Return the lines of a diff without the indentation that they all share after their sign."""
    lines = hunks.splitlines()
    code = textwrap.dedent("\n".join("" if line == "@@" else line[1:] for line in lines))
    return [
        line if line == "@@" else f"{line[:1] or ' '} {rest}"
        for line, rest in zip(lines, code.split("\n"), strict=True)
    ]


def list_parts(
    groups: Mapping[str, list[tuple[str, str]]], last_line: str
) -> Iterator[RenderableType]:
    """Yield a list of causes under the titles of their groups."""
    width = max(len(name) for rows in groups.values() for name, _ in rows)
    for title, rows in groups.items():
        yield Text(title, style=HEADING)
        yield CauseRows(rows, width)
        yield ""
    yield Markdown(last_line)


@dataclass(frozen=True)
class CauseRows:
    """Names beside their summaries, or above them on a narrow terminal."""

    rows: list[tuple[str, str]]
    name_width: int

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width - self.name_width - 4 < SUMMARY_COLUMNS:
            for name, summary in self.rows:
                yield Padding(Text(name, style="bold"), (0, 0, 0, 2))
                yield Padding(Markdown(summary), (0, 0, 0, 6))
            return
        table = Table.grid(padding=(0, 2))
        table.add_column(width=self.name_width + 2, no_wrap=True, style="bold")
        table.add_column(overflow="fold")
        for name, summary in self.rows:
            table.add_row(f"  {name}", Markdown(summary))
        yield table
