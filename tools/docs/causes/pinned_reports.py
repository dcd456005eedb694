"""The pinned reports of the documented programs: real ones, which the test suite compares with new runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.docs.places import ROOT

PROGRAMS = ROOT / "tests" / "programs"
FURTHER = "--- findings in full"
PROPOSED = "--- proposed changes"
EXCEPTION = re.compile(
    r"^ *· ((?:\w+\.)*\w*(?:Error|Exception|Interrupt): .*(?:\n {8,}[^·\s].*)*)", re.MULTILINE
)
CHANGE = re.compile(
    r"^(?P<title>\S.*) \((?P<safety>[\w-]+)\)\n(?P<diff>--- .*\n\+\+\+ .*\n(?:[ @+-].*\n|\n)*)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Change:
    """A change that `torchwhy fix` would try."""

    title: str
    safety: str
    diff: str


@dataclass(frozen=True)
class PinnedReport:
    """What the terminal shows, and the changes that `torchwhy fix` would try."""

    shown: str
    changes: tuple[Change, ...]

    def messages(self) -> list[str]:
        """Return the messages of the exceptions that the report quotes."""
        return [" ".join(found.split()) for found in EXCEPTION.findall(self.shown)]


def read_report(path: Path) -> PinnedReport:
    """Return a pinned report in its parts."""
    text, _, proposed = path.read_text(encoding="utf8").partition(f"{PROPOSED}\n")
    shown = text.partition(f"{FURTHER}\n")[0]
    changes = (
        Change(one["title"], one["safety"], one["diff"]) for one in CHANGE.finditer(proposed)
    )
    return PinnedReport(shown.rstrip(), tuple(changes))


def report_of(cause: str, section: str, number: int) -> PinnedReport | None:
    """Return the report of a program of a manual page; None for one that is only run as a whole."""
    path = PROGRAMS / cause / "manual" / f"{section}-{number}.report.txt"
    return read_report(path) if path.exists() else None


def messages_of(cause: str) -> list[str]:
    """Return the messages with which the programs of a cause end, each once."""
    return list(dict.fromkeys(_messages(cause)))


def _messages(cause: str) -> Iterator[str]:
    for kind in ("manual", "broken"):
        for path in sorted((PROGRAMS / cause / kind).glob("*.report.txt")):
            report = read_report(path)
            if f"[{cause}]" in report.shown:
                yield from report.messages()
