"""The report for the terminal: the root cause on one screen, then a line for each further finding."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.printable import printable
from torchwhy.report.checklist import checklist
from torchwhy.report.excerpt import excerpt
from torchwhy.report.headlines import headline, moment
from torchwhy.report.model import Report
from torchwhy.report.plain_report import cost_of, counted, lines_of, show_plainly, write_to
from torchwhy.report.sparkline import sparkline
from torchwhy.report.window import DiffLines, SourceLine
from torchwhy.report.wording import OFFERED, SAFETY_WORDS, VERDICT_WORDS, since

WIDEST = 120  # Longer lines of prose are hard to read.
WIDTH_OF_A_FILE = 100
EVIDENCE_SHOWN = 6
ROOM_FOR_A_CURVE = 48  # The label and the numbers leave this many of 80 columns.
CONSEQUENCES_SHOWN = 4
DIFF_LINES_SHOWN = 14
FIXES_SHOWN = 4
FURTHER_SHOWN = 8
STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}


@dataclass(frozen=True)
class Place:
    """The directory of the recorded run (`run`), and the one that its file names are relative to."""

    run: Path
    directory: Path


class _SafeConsole(Console):
    """A console on which nothing but its own styles steers the terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield the segments without control characters from the program or the run."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


def show(report: Report, place: Place, stream: IO[str]) -> None:
    """Write the report to a stream, with colours and width as the stream allows."""
    if not show_plainly(report, stream):
        _print(_parts(report, place), stream)


def show_checks(report: Report, stream: IO[str], *, of: str = "") -> None:
    """Write the list of checks to a stream, after what is to be noted; `of` is the command, `check train.py`."""
    notes = (Text(f"torchwhy: {note}") for note in report.all_notes)
    _print([*notes, *checklist(report, of=of)], stream)


def _print(parts: Iterable[RenderableType], stream: IO[str]) -> None:
    terminal = stream.isatty()
    buffer = io.StringIO()
    sizing = Console(file=stream, force_jupyter=False)
    console = _SafeConsole(
        file=buffer,
        force_terminal=terminal,
        force_jupyter=False,  # A notebook gets the text as one piece.
        color_system="auto" if terminal and not os.environ.get("NO_COLOR") else None,
        width=min(sizing.width, WIDEST) if terminal or "COLUMNS" in os.environ else WIDTH_OF_A_FILE,
        highlight=False,
        markup=False,
        emoji=False,
    )
    for part in parts:
        # The terminal wraps plain lines itself, so that a path in them can be copied whole.
        console.print(part, soft_wrap=isinstance(part, Text))
    write_to(stream, buffer.getvalue())


def _parts(report: Report, place: Place) -> Iterator[RenderableType]:
    root = report.root_cause
    if root is None:
        yield from _healthy(report)
        return
    yield Rule(_title(report, root), align="left", style=STYLES[root.severity], characters="─")
    yield ""
    yield Padding(_headline(root), (0, 0, 0, 2))
    yield ""
    yield Padding(_table(root, place), (0, 0, 0, 2))
    yield from _further(report, root)
    yield from (
        Padding(Text(f"note: {note}", style="dim"), (1, 0, 0, 2)) for note in report.all_notes
    )
    yield _where_to_read_on(report, root, place)


def _healthy(report: Report) -> Iterator[RenderableType]:
    """Yield what was not seen, then that nothing was found and how much was asked, then all notes."""
    yield from map(Text, lines_of(report))
    yield from (Padding(_in_short(report, one), (0, 0, 0, 2)) for one in report.findings)


def _title(report: Report, root: Finding) -> Text:
    rank = f", rank {root.rank}" if any(finding.rank for finding in report.findings) else ""
    return Text(f"torchwhy: {headline(root)}{rank}", style=STYLES[root.severity])


def _headline(root: Finding) -> Text:
    text = Text(root.message, style="bold")
    text.append(f"\n{root.detector}", style=STYLES[root.severity])
    text.append(f" · {root.severity} · {root.certainty}", style="dim")
    return text


def _table(root: Finding, place: Place) -> Table:
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    for label, content in _rows(root, place):
        table.add_row(label, content)
    return table


def _rows(root: Finding, place: Place) -> Iterator[tuple[str, RenderableType]]:
    if root.location is not None:
        yield "where", _where(root, place)
    when = since(root)
    if when:
        yield "since", Text(when)
    if root.evidence:
        yield "evidence", _listed("·", _evidence_lines(root))
    if root.explains:
        yield "led to", _listed("→", _consequences(root))
    for fix in root.fixes[:1]:
        label = "fix" if fix.trial.verdict in OFFERED else "tried"
        file = root.location.file if root.location is not None else None
        yield label, Group(*_fix(fix, with_diff=True, file=file))
    for fix in root.fixes[1:FIXES_SHOWN]:
        label = "or" if fix.trial.verdict in OFFERED else "also tried"
        yield label, Group(*_fix(fix, with_diff=False))


def _listed(sign: str, lines: Iterator[Text]) -> Table:
    """Return lines with a sign before each, so that a wrapped line does not look like two."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row(sign, line)
    return table


def _where(root: Finding, place: Place) -> Group:
    span = root.location
    assert span is not None
    head = Text(str(span), style="bold")
    if span.module:
        head.append(f" (module {span.module})", style="not bold")
    lines = excerpt(span, place.directory)
    if not lines and span.expression:
        return Group(head, Text(span.expression, style="italic", no_wrap=True, overflow="ellipsis"))
    margin = len(str(lines[-1].number)) if lines else 0
    style = STYLES[root.severity]
    shown = [
        SourceLine(f"{line.number:>{margin}} │ ", line.text, line.start, line.end, style)
        for line in lines
    ]
    return Group(head, *shown)


def _evidence_lines(root: Finding) -> Iterator[Text]:
    for evidence in root.evidence[:EVIDENCE_SHOWN]:
        yield _evidence_line(root, evidence)
    left = len(root.evidence) - EVIDENCE_SHOWN
    if left > 0:
        yield Text(f"and {left} more in the full report", style="dim")


def _evidence_line(root: Finding, evidence: Evidence) -> Text:
    line = Text(evidence.claim)
    if evidence.step is not None and evidence.step != root.step:
        line.append(f" ({moment(evidence.step)})", style="dim")
    if evidence.location is not None and evidence.location != root.location:
        line.append(f" [{evidence.location}]", style="dim")
    if evidence.series:
        curve = sparkline(evidence.series)
        fits = len(evidence.claim) + len(curve) <= ROOM_FOR_A_CURVE
        line.append(("  " if fits else "\n") + curve, style="cyan")
        line.append(f" {evidence.series[0]:.4g} → {evidence.series[-1]:.4g}", style="dim")
    return line


def _consequences(root: Finding) -> Iterator[Text]:
    chain = list(_chain(root, depth=0))
    for depth, finding in chain[:CONSEQUENCES_SHOWN]:
        line = Text("  " * depth + finding.message)
        if finding.location is not None and finding.location != root.location:
            line.append(f" [{finding.location}]", style="dim")
        yield line
    if len(chain) > CONSEQUENCES_SHOWN:
        yield Text(f"and {len(chain) - CONSEQUENCES_SHOWN} more in the full report", style="dim")


def _chain(finding: Finding, depth: int) -> Iterator[tuple[int, Finding]]:
    for explained in finding.explains:
        yield depth, explained
        yield from _chain(explained, depth + 1)


def _fix(fix: Fix, *, with_diff: bool, file: str | None = None) -> Iterator[RenderableType]:
    """Yield a fix and its trial; a change to another file than `file`, the finding's, names its place."""
    title = Text(fix.title)
    if fix.can_be_tried or fix.trial.verdict != "not-run":
        words = f" ({SAFETY_WORDS[fix.safety]}; {VERDICT_WORDS[fix.trial.verdict]})"
        title.append(words, style="dim")
    yield title
    if with_diff:
        yield DiffLines(tuple(_diff_lines(fix.diff, file)[:DIFF_LINES_SHOWN]))
    if fix.trial.summary:
        # Only the first fix says how the run goes without it.
        yield Text(fix.trial.summary if with_diff else fix.trial.with_it)
    if with_diff:
        yield from _curves(fix)


def _diff_lines(diff: str, usual_file: str | None) -> list[str]:
    """Return the changed lines; if they are in several places or another file, with the file and line of each."""
    lines = diff.splitlines()
    several = sum(line.startswith("@@") for line in lines) > 1
    shown: list[str] = []
    file = ""
    for line in lines:
        if line.startswith("+++ "):
            file = line[4:].split("\t")[0].removeprefix("b/")
        elif line.startswith("@@") and (several or usual_file not in (None, file)):
            shown.append(f"@@ {file}:{line.partition('+')[2].partition(' ')[0].partition(',')[0]}")
        elif not line.startswith(("--- ", "@@")):
            shown.append(line)
    return "\n".join(shown).rstrip().splitlines()


def _curves(fix: Fix) -> Iterator[Text]:
    """Yield the losses without and with the fix, one under the other."""
    trial = fix.trial
    for label, losses in (("without", trial.before_losses), ("with", trial.after_losses)):
        if losses is not None and len(losses) > 1:
            line = Text(f"{label:>7} ", style="dim")
            line.append(sparkline(losses), style="cyan")
            line.append(f" {losses[0]:.4g} → {losses[-1]:.4g}", style="dim")
            yield line


def _further(report: Report, root: Finding) -> Iterator[RenderableType]:
    shown_as_consequence = {report.id_of(one) for _, one in _chain(root, depth=0)}
    others = [one for one in report.findings[1:] if report.id_of(one) not in shown_as_consequence]
    if others:
        yield ""
    for finding in others[:FURTHER_SHOWN]:
        yield Padding(_in_short(report, finding), (0, 0, 0, 2))
    if len(others) > FURTHER_SHOWN:
        left = len(others) - FURTHER_SHOWN
        yield Padding(Text(f"and {left} more in the full report", style="dim"), (0, 0, 0, 2))


def _in_short(report: Report, finding: Finding) -> Table:
    """Return a finding in a few lines: what, where, which cause."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    place = f"{finding.location}: " if finding.location is not None else ""
    said = Text(f"{place}{finding.message} ")
    said.append(f"[{finding.detector}]", style="dim")
    label = f"{report.id_of(finding)} {finding.severity}"
    table.add_row(Text(label, style=STYLES[finding.severity]), said)
    return table


def _where_to_read_on(report: Report, root: Finding, place: Place) -> Text:
    steps = counted(report.steps)
    cost = f"\n  Watched {steps}{cost_of(report, before='; ')}." if report.cost is not None else ""
    return Text(
        f"\n  Full report: {place.run / 'report.json'}\n"
        f"  About this cause: torchwhy explain {root.detector}{cost}",
        style="dim",
    )
