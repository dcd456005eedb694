"""The report of a run without findings, as plain lines: importing rich would take longer than judging such a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from torchwhy.printable import printable
from torchwhy.report.model import Report

SHORT_RUN_SECONDS = 60.0  # In a shorter run the first step takes most of the watching time.
PLAIN_SIGNS = str.maketrans(
    dict(zip("▁▂▃▄▅▆▇█", "__--==##", strict=True))
    | {
        "×": "x",
        "─": "-",
        "│": "|",
        "└": "+",
        "┘": "+",
        "·": "-",
        "→": "->",
        "…": "...",
        "λ": "lambda",
        "−": "-",
    }
    | {"✓": "+", "✗": "x", "≤": "<=", "≥": ">=", "–": "-", "’": "'", "²": "^2", "≈": "~"}
)


def show_plainly(report: Report, stream: IO[str]) -> bool:
    """Write a report without findings to a stream; return False if it has some."""
    if report.findings:
        return False
    text = "".join(f"{printable(line)}\n" for line in lines_of(report))
    write_to(stream, text)
    return True


def lines_of(report: Report) -> Iterable[str]:
    """Yield what was not seen, then that nothing was found and how much was asked, then all notes."""
    yield from (f"torchwhy: {note}" for note in report.unseen)
    if report.steps or report.findings or any(one.answer == "yes" for one in report.checks):
        yield f"torchwhy: {nothing_found(report)}{cost_of(report, before='; ')}."
    yield from (f"torchwhy: {note}" for note in report.all_notes[len(report.unseen) :])


def write_to(stream: IO[str], text: str) -> None:
    """Write lines without trailing blanks, in characters that the stream has."""
    lines = "".join(line.rstrip() + "\n" for line in text.splitlines())
    stream.write(fit_encoding(lines, getattr(stream, "encoding", None)))
    stream.flush()


def fit_encoding(text: str, encoding: str | None) -> str:
    """Return the text in characters that the encoding has."""
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return text.translate(PLAIN_SIGNS).encode("ascii", errors="replace").decode("ascii")
    return text


def counted(steps: int) -> str:
    """Return `1 step` or `3 steps`."""
    return "1 step" if steps == 1 else f"{steps} steps"


def nothing_found(report: Report) -> str:
    """Return that nothing was found, in how many steps, and how many checks could be made."""
    notes = len(report.findings)
    words = "nothing else found" if report.silenced else "nothing found"
    if notes:
        words = f"{notes} {'note' if notes == 1 else 'notes'}, nothing else found"
    if report.steps:
        words += f" in {counted(report.steps)}"
    made = sum(check.was_made for check in report.checks)
    if report.checks:
        words += (
            f" ({made} of {len(report.checks)} checks could be made; "
            "`torchwhy report --checks` lists them)"
        )
    return words


def cost_of(report: Report, *, before: str) -> str:
    """Return how long watching took: in seconds for a short run, else as a share of the time."""
    cost = report.cost
    if cost is None:
        return ""
    if cost.seconds < SHORT_RUN_SECONDS:
        return f"{before}watching took {cost.own_seconds:.1f} s of {cost.seconds:.1f} s"
    return f"{before}watching took {cost.share:.1%} of the time".replace("%", " %")
