"""What is told while a program runs: one line on stderr, between the program's own."""

from __future__ import annotations

from contextlib import suppress
from typing import IO

from torchwhy.finding import Finding
from torchwhy.follow.live_diagnosis import Change
from torchwhy.printable import one_line
from torchwhy.report.plain_report import fit_encoding

STOPPING = "stopping the program (`--on-finding stop`)"
STILL_TRAINS = "the program trains on after the interrupt; it gets SIGTERM (`--on-finding stop`)"


class Lines:
    """Writes whole lines to a stream; without one, or if it is closed, nothing."""

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream

    def say(self, text: str) -> None:
        """Write one line. On a terminal it begins anew, because a progress bar leaves its line open."""
        if self._stream is None:
            return
        with suppress(OSError, ValueError):
            begin = "\n" if self._stream.isatty() else ""
            line = f"{begin}torchwhy: {one_line(text)}\n"
            self._stream.write(fit_encoding(line, getattr(self._stream, "encoding", None)))
            self._stream.flush()


def line_of(change: Change) -> str:
    """Return `step 60: gradients are never cleared, train.py:41 [missing-zero-grad]`."""
    withdrawn = "withdrawn, the run has shown otherwise since: "
    words = withdrawn if change.what == "withdrawn" else ""
    return f"step {change.step}: {words}{_told(change.finding)}"


def _told(finding: Finding) -> str:
    place = finding.location
    where = "" if place is None else f", {place.file}:{place.line}"
    rank = f", rank {finding.rank}" if finding.rank else ""
    return f"{finding.message}{where}{rank} [{finding.detector}]"
