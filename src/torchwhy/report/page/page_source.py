"""The places of the failure in the program's text, and the path that leads from one to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from torchwhy.finding import Finding, SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.crashes import Crash, NamedTensor
from torchwhy.record.events import Birth
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.report.excerpt import marked, source_lines, still_the_same
from torchwhy.report.page.page_model import CodeLine, Listing, Role, Station

CONTEXT = 3  # lines around the place of the cause
CONTEXT_OF_OTHERS = 1
MOST_STATIONS = 8
LONGEST_LINE = 400  # characters; the rest of a longer one is left out
LONGEST_SPAN = 5  # lines


@dataclass(frozen=True)
class Stop:
    """A place on the path, before it has a number."""

    span: SourceSpan
    role: Role
    words: str
    labels: tuple[str, ...] = ()


def stops_of(root: Finding, birth: Birth | None, crash: Crash | None) -> list[Stop]:
    """Return the places from the cause to what the user sees, each line once."""
    found: list[Stop] = []
    for stop in _all_stops(root, birth, crash):
        same = [i for i, one in enumerate(found) if _line(one.span) == _line(stop.span)]
        if not same:
            found.append(stop)
        elif not found[same[0]].labels:
            found[same[0]] = replace(found[same[0]], labels=stop.labels)
    return found[:MOST_STATIONS]


def _line(span: SourceSpan) -> tuple[str, int]:
    return span.file, span.line


def _all_stops(root: Finding, birth: Birth | None, crash: Crash | None) -> Iterator[Stop]:
    if root.location is not None:
        yield Stop(root.location, "cause", root.message)
    for evidence in root.evidence:
        if evidence.location is not None:
            yield Stop(evidence.location, "consequence", evidence.claim)
    if birth is not None:
        yield from _of_birth(birth)
    if crash is not None and crash.location is not None:
        labels = tuple(_tensor(one) for one in crash.operands)
        yield Stop(crash.location, "symptom", f"{crash.type}: {_first(crash.message)}", labels)
    for finding in _explained(root):
        if finding.location is not None:
            yield Stop(finding.location, "consequence", finding.message)
    if root.symptom_at is not None:
        yield Stop(root.symptom_at, "symptom", "here it shows")


def _of_birth(birth: Birth) -> Iterator[Stop]:
    if birth.location is not None:
        labels = tuple(_operand(birth, place) for place in range(len(birth.operands)))
        yield Stop(
            birth.location, "birth", f"the first value that is not finite ({birth.op})", labels
        )
    if birth.called_from is not None:
        reached = ", ".join(birth.reaches[:3]) + (" …" if len(birth.reaches) > 3 else "")
        yield Stop(birth.called_from, "consequence", f"it spreads to: {reached}")


def _explained(finding: Finding) -> Iterator[Finding]:
    for one in finding.explains:
        yield one
        yield from _explained(one)


def operand_name(birth: Birth, place: int) -> str:
    """Return the program's name of an operand, or else which operand of which operation it is."""
    name = birth.operands[place].name
    return name or f"operand {place + 1} of {birth.node or birth.op}"


def _operand(birth: Birth, place: int) -> str:
    """Return `squared = 0 there, float32[16] in 0…7.7`."""
    operand, name = birth.operands[place], operand_name(birth, place)
    if operand.scalar is not None:
        return f"{name} = {decode(operand.scalar):.4g}"
    facts = operand.tensor
    if facts is None:
        return name
    there = "" if operand.at_born is None else f" = {decode(operand.at_born):.4g} there"
    size = f"{facts.dtype}{facts.shape}"
    if facts.minimum is not None and facts.maximum is not None:
        size += f" in {facts.minimum:.4g}…{facts.maximum:.4g}"
    return f"{name}{there}, {size}" if there else f"{name}: {size}"


def _tensor(tensor: NamedTensor) -> str:
    words = f"{tensor.name}: {tensor.dtype}{tensor.shape}"
    if tensor.minimum is not None and tensor.maximum is not None:
        words += f" in {tensor.minimum:g}…{tensor.maximum:g}"
    return words


def _first(message: str) -> str:
    return (message.strip().splitlines() or [""])[0][:LONGEST_LINE]


def numbered(stops: Sequence[Stop]) -> tuple[Station, ...]:
    """Return the stops as the list beside the source."""
    return tuple(
        Station(number, stop.role, str(stop.span), stop.words)
        for number, stop in enumerate(stops, start=1)
    )


def listings_of(
    stops: Sequence[Stop], traces: Sequence[Trace], directory: Path
) -> tuple[Listing, ...]:
    """Return the lines around all stops, by file in the order of the path."""
    files = dict.fromkeys(stop.span.file for stop in stops)
    listings = (
        Listing(file, tuple(_lines(file, stops, text_of(file, traces, directory))))
        for file in files
    )
    return tuple(one for one in listings if one.lines)


def text_of(file: str, traces: Sequence[Trace], directory: Path) -> list[str]:
    """Return the lines of a file as it ran; if the trace does not have it, as it is on the disk now."""
    for trace in traces:
        source = trace.files.get(file) or trace.files.get(str(directory / file))
        if source is not None:
            return source.text.splitlines()
    return source_lines(directory / file)


def _lines(file: str, stops: Sequence[Stop], source: list[str]) -> Iterator[CodeLine]:
    here = [
        (number, stop)
        for number, stop in enumerate(stops, start=1)
        if stop.span.file == file and still_the_same(stop.span, source)
    ]
    shown: set[int] = set()
    for number, stop in here:
        around = CONTEXT if number == 1 else CONTEXT_OF_OTHERS
        last = min(stop.span.end_line or stop.span.line, stop.span.line + LONGEST_SPAN)
        shown |= set(range(stop.span.line - around, last + around + 1))
    before = None
    for line in sorted(one for one in shown if 1 <= one <= len(source)):
        if before is not None and line > before + 1:
            yield CodeLine(None, "⋯")
        before = line
        yield _code_line(line, source[line - 1][:LONGEST_LINE], here)


def _code_line(line: int, text: str, here: Sequence[tuple[int, Stop]]) -> CodeLine:
    for number, stop in here:
        span = stop.span
        if span.line <= line <= (span.end_line or span.line):
            at = marked(span, line, text)
            is_first = line == span.line
            return CodeLine(
                line,
                text,
                at.start,
                min(at.end, len(text)),
                number if is_first else 0,
                stop.labels if line == (span.end_line or span.line) else (),
            )
    return CodeLine(line, text)
