"""The report for the terminal: the root cause on one screen, then a line for each further finding."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.printable import printable
from torchwhy.report.checklist import checklist
from torchwhy.report.excerpt import Line, excerpt
from torchwhy.report.headlines import effect_of, moment
from torchwhy.report.model import Report
from torchwhy.report.plain_report import cost_of, counted, lines_of, show_plainly, write_to
from torchwhy.report.sparkline import sparkline
from torchwhy.report.text.hyperlinks import has_links, link_to
from torchwhy.report.text.labels import PlacedLabel, placed_labels
from torchwhy.report.window import DiffLines, SourceLine, diff_lines
from torchwhy.report.wording import (
    CERTAINTY_WORDS,
    OFFERED,
    SAFETY_WORDS,
    VERDICT_WORDS,
    when_and_which,
)

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
    """The directory of the recorded run (`run`), and the one that its file names are relative to.

    `run` is None for a report that is not stored, of several directories.
    """

    run: Path | None
    directory: Path


class _SafeConsole(Console):
    """A console on which nothing but its own styles steers the terminal; `links` tells whether it has links."""

    links = False

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield the segments without control characters from the program or the run."""
        for segment in super().render(renderable, options):
            style = segment.style
            if style is not None and style.link and not self.links:
                style = style.update_link(None)
            yield segment if segment.control else Segment(printable(segment.text), style)


def show(report: Report, place: Place, stream: IO[str], *, then: Sequence[str] = ()) -> None:
    """Write the report to a stream, with colours and width as the stream allows; `then` is what to do next."""
    if not show_plainly(report, stream):
        _print(_parts(report, place, then), stream)


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
    console.links = has_links(stream)
    for part in parts:
        # The terminal wraps plain lines itself, so that a path in them can be copied whole.
        console.print(part, soft_wrap=isinstance(part, Text))
    write_to(stream, buffer.getvalue())


def _parts(report: Report, place: Place, then: Sequence[str]) -> Iterator[RenderableType]:
    root = report.root_cause
    if root is None:
        yield from _healthy(report)
        return
    lines = [] if root.location is None else excerpt(root.location, place.directory)
    labels = placed_labels(root, lines)
    yield Rule(_title(report, root), align="left", style=STYLES[root.severity], characters="─")
    yield Padding(_headline(root), (0, 0, 0, 0))
    yield from _source(root, lines, labels, place)
    yield ""
    yield Padding(_table(root, [one.evidence for one in labels]), (0, 0, 0, 2))
    yield from _further(report, root)
    yield from (
        Padding(Text(f"note: {note}", style="dim"), (1, 0, 0, 2)) for note in report.all_notes
    )
    yield from _keepsakes(report, place)
    yield ""
    yield _next(root, place, then)
    if report.cost is not None:
        watched = f"watched {counted(report.steps)}{cost_of(report, before='; ')}"
        yield Text(watched, style="dim")


def _healthy(report: Report) -> Iterator[RenderableType]:
    """Yield what was not seen, then that nothing was found and how much was asked, then all notes."""
    yield from map(Text, lines_of(report))
    yield from (Padding(_in_short(report, one), (0, 0, 0, 2)) for one in report.findings)


def _title(report: Report, root: Finding) -> Text:
    failed = report.failed_ranks
    if failed is not None and failed.followed:
        return Text(f"torchwhy: {effect_of(root)}, {failed.words}", style=STYLES[root.severity])
    rank = f", rank {root.rank}" if any(finding.rank for finding in report.findings) else ""
    return Text(f"torchwhy: {effect_of(root)}{rank}", style=STYLES[root.severity])


def _headline(root: Finding) -> Text:
    text = Text(f"{root.severity}[{root.detector}]", style=STYLES[root.severity])
    return text.append(f": {root.headline}", style="bold default")


def _source(
    root: Finding, lines: Sequence[Line], labels: Sequence[PlacedLabel], place: Place
) -> Iterator[RenderableType]:
    """Yield the place and the moment, then the source around the expression with the values under it."""
    style = STYLES[root.severity]
    margin = max((len(str(line.number)) for line in lines), default=1)
    where = when_and_which(root)
    if root.location is not None:
        module = f" (module {root.location.module})" if root.location.module else ""
        where.insert(0, module)
    if where:
        arrow = Text(f"{' ' * margin}-->", style="bold blue")
        at = Text("") if root.location is None else _linked(root.location, place)
        yield _listed(arrow, iter([at.append(" · ".join(where))]))
    if not lines and root.location is not None and root.location.expression:
        expression = Text(f"{' ' * margin} │ ", style="dim", no_wrap=True, overflow="ellipsis")
        first_line = root.location.expression.strip().partition("\n")[0]
        yield Padding(expression.append(first_line, style="not dim"), 0)
    for line in lines:
        under = tuple((one.column, one.words) for one in labels if one.line == line.number)
        yield SourceLine(
            f"{line.number:>{margin}} │ ", line.text, line.start, line.end, style, under
        )


def _linked(span: SourceSpan, place: Place) -> Text:
    """Return a place that opens by a click; a cell of a notebook has no file."""
    if span.is_cell:
        return Text(str(span))
    link = Style(link=link_to(place.directory / span.file, span.line))
    return Text().append(str(span), style=link)


def _table(root: Finding, told: Sequence[Evidence]) -> Table:
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    for label, content in _rows(root, told):
        table.add_row(label, content)
    return table


def _rows(
    root: Finding, told: Sequence[Evidence]
) -> Iterator[tuple[RenderableType, RenderableType]]:
    """Yield the changes, then why: the evidence that the source does not show, and the consequences."""
    for fix in root.fixes[:1]:
        is_offered = fix.trial.verdict in OFFERED
        file = root.location.file if root.location is not None else None
        label = Text("fix", style="bold green not dim") if is_offered else Text("tried")
        yield label, Group(*_fix(fix, with_diff=True, file=file))
    for fix in root.fixes[1:FIXES_SHOWN]:
        label = Text("or" if fix.trial.verdict in OFFERED else "also tried")
        yield label, Group(*_fix(fix, with_diff=False))
    evidence = [one for one in root.evidence if one not in told and not _is_said(one, root)]
    sure = Text(CERTAINTY_WORDS[root.certainty] + (":" if evidence else ""))
    if evidence:
        yield "why", Group(sure, _listed("·", _evidence_lines(root, evidence)))
    elif root.certainty != "observed":
        yield "why", sure
    if root.explains:
        yield "led to", _listed("→", _consequences(root))


def _is_said(evidence: Evidence, root: Finding) -> bool:
    """Tell whether the headline has the same words; a curve says more than its title."""
    return evidence.series is None and evidence.claim in root.headline


def _listed(sign: str | Text, lines: Iterator[Text]) -> Table:
    """Return lines with a sign before each, so that a wrapped line does not look like two."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row(sign, line)
    return table


def _evidence_lines(root: Finding, evidence: Sequence[Evidence]) -> Iterator[Text]:
    for one in evidence[:EVIDENCE_SHOWN]:
        yield _evidence_line(root, one)
    left = len(evidence) - EVIDENCE_SHOWN
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
        yield DiffLines(tuple(diff_lines(fix.diff, file)[:DIFF_LINES_SHOWN]))
    if fix.trial.summary:
        # Only the first fix says how the run goes without it.
        yield Text(fix.trial.summary if with_diff else fix.trial.with_it)
    if with_diff:
        yield from _curves(fix)


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


def _keepsakes(report: Report, place: Place) -> Iterator[Text]:
    """Yield what is kept of the failing step, with the lines that use it, whole so that they can be copied."""
    stored = Path("report.json") if place.run is None else place.run / "report.json"
    for number, passage in enumerate(report.keepsakes(str(stored))):
        text = Text(f"{'' if number else chr(10)}  {passage.text}")
        for line in passage.lines:
            text.append(f"\n    {line}", style="cyan")
        yield text


def _next(root: Finding, place: Place, then: Sequence[str]) -> Text:
    """Return what to do next, and where to read on, in one line."""
    line = Text("next: ", style="bold")
    manual = f"torchwhy explain {root.detector}"
    if place.run is None:
        to_file = "full report: -f json -o report.json"
        return line.append(" · ".join((*then, manual, to_file)), style="not bold")
    line.append(" · ".join((*then, manual, "full report ")), style="not bold")
    file = place.run / "report.json"
    return line.append(str(file), style=Style(bold=False, link=link_to(file)))
