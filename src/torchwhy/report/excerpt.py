"""The source lines of a finding, with the expression at fault marked."""

from __future__ import annotations

from pathlib import Path

from torchwhy.errors import TraceError
from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.run_folder import read_bounded
from torchwhy.source.files import text_of_cell

LARGEST_SOURCE = 10_000_000  # bytes
LARGEST_SPAN_LINES = 5  # Of a longer expression, only the beginning is shown.
CONTEXT = 2  # lines before and after the expression


@dataclass(frozen=True)
class Line:
    """One line of source; `start` and `end` bound the marked columns, equal if nothing is marked."""

    number: int
    text: str
    start: int = 0
    end: int = 0


def excerpt(span: SourceSpan, directory: Path) -> list[Line]:
    """Return the lines of the span and those around it, dedented; empty if the file cannot be read or has changed."""
    cell = text_of_cell(span.file)
    source = source_lines(directory / span.file) if cell is None else cell.splitlines()
    if span.line < 1:
        return []
    last = min(span.end_line or span.line, span.line + LARGEST_SPAN_LINES - 1, len(source))
    if last < span.line or not still_the_same(span, source):
        return []
    first, end = max(1, span.line - CONTEXT), min(last + CONTEXT, len(source))
    while first < span.line and not source[first - 1].strip():
        first += 1
    while end > last and not source[end - 1].strip():
        end -= 1
    inside = range(span.line, last + 1)
    return _dedented(
        [
            marked(span, number, text) if number in inside else Line(number, text)
            for number, text in enumerate(source[first - 1 : end], start=first)
        ]
    )


def source_lines(path: Path) -> list[str]:
    """Return the lines of a file; none if it is not a regular one of ordinary size."""
    try:
        return read_bounded(path.resolve(), LARGEST_SOURCE).decode("utf8").splitlines()
    except (OSError, RuntimeError, ValueError, TraceError):  # RuntimeError: a loop of links.
        return []


def still_the_same(span: SourceSpan, source: list[str]) -> bool:
    """Tell whether the file still has the recorded expression on its line; else the marks would be wrong."""
    if not 1 <= span.line <= len(source):
        return False
    if span.expression is None:
        return True
    first_words = (span.expression.strip().splitlines() or [""])[0].strip()
    return first_words in source[span.line - 1]


def marked(span: SourceSpan, number: int, text: str) -> Line:
    """Return one line of a span with the columns of the span."""
    indent = len(text) - len(text.lstrip())
    start, end = indent, len(text.rstrip())
    end_line = span.end_line or span.line
    if span.column is None or span.end_column is None:
        return _marked_by_expression(span, number, text)
    if number == span.line:
        start = min(max(span.column, 0), len(text))
    if number == end_line:
        end = min(span.end_column, len(text))
    return Line(number, text, start, max(start, end))


def _marked_by_expression(span: SourceSpan, number: int, text: str) -> Line:
    position = text.find(span.expression) if span.expression else -1
    if position < 0 or span.expression is None:
        return Line(number, text)
    return Line(number, text, position, position + len(span.expression))


def _dedented(lines: list[Line]) -> list[Line]:
    shared = min(len(line.text) - len(line.text.lstrip()) for line in lines if line.text.strip())
    return [
        Line(
            line.number, line.text[shared:], max(0, line.start - shared), max(0, line.end - shared)
        )
        for line in lines
    ]
