"""Decides at each look into a running program which errors to tell, and which told ones to withdraw.

An error is told if its cause declares it settled and two looks show it, between which the program made some steps: a
look may come while the events of a step are being written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from torchwhy.detect.registry import detectors_for
from torchwhy.finding import Finding
from torchwhy.follow.early_errors import EarlyError, Judged, judge
from torchwhy.plain_data import dataclass
from torchwhy.record.trace import Trace

STEPS_BETWEEN = 8  # of the program, between the two looks that show an error


@dataclass(frozen=True)
class Change:
    """What is told after a look; `step` is the newest step of the program by then."""

    what: Literal["finding", "withdrawn"]
    finding: Finding
    step: int


class LiveDiagnosis:
    """What has been told of one run. Each error is told at most once, also if it was withdrawn since."""

    def __init__(self, directory: Path, allow: Sequence[str] = ()) -> None:
        self._directory = directory
        self._allow = allow
        self._seen: list[EarlyError] = []
        self.told: list[Finding] = []
        self.withdrawn: list[Finding] = []

    @staticmethod
    def prepare() -> None:
        """Import the causes, so that the first look costs no more than the others."""
        detectors_for([])

    def look(self, traces: Sequence[Trace]) -> list[Change]:
        """Judge the traces as they are now; return what is new to tell."""
        judged = judge(traces, self._directory, self._allow)
        return [*self._withdraw(judged), *self._tell(judged)]

    def close(self, findings: Iterable[Finding], *, step: int) -> list[Change]:
        """Return the withdrawal of each told error that the findings of the whole run do not contain."""
        errors = [one for one in findings if one.severity == "error"]
        lost = [one for one in self.told if not is_among(one, errors)]
        return [self._withdrawn(one, step) for one in lost]

    def _withdraw(self, judged: Judged) -> list[Change]:
        errors = [one.finding for one in judged.errors]
        lost = [
            one
            for one in self.told
            if (one.rank, one.detector) in judged.causes and not is_among(one, errors)
        ]
        return [self._withdrawn(one, judged.step) for one in lost]

    def _withdrawn(self, finding: Finding, step: int) -> Change:
        self.told.remove(finding)
        self.withdrawn.append(finding)
        return Change("withdrawn", finding, step)

    def _tell(self, judged: Judged) -> list[Change]:
        seen, self._seen = self._seen, []
        changes: list[Change] = []
        for error in judged.errors:
            known = [*self.told, *self.withdrawn]
            if not error.is_settled or is_among(error.finding, known):
                continue
            first = next((one for one in seen if _is_same(one.finding, error.finding)), error)
            if error.step - first.step < STEPS_BETWEEN:
                self._seen.append(first)
                continue
            self.told.append(error.finding)
            changes.append(Change("finding", error.finding, error.step))
        return changes


def is_among(finding: Finding, others: Iterable[Finding]) -> bool:
    """Tell whether an error is one of these, of whichever rank."""
    return any(_is_same(finding, other) for other in others)


def _is_same(one: Finding, other: Finding) -> bool:
    """Compare place or step: a file that is imported later may show a better place for the same fault."""
    if one.detector != other.detector:
        return False
    return _line_of(one) == _line_of(other) or one.step == other.step


def _line_of(finding: Finding) -> tuple[str, int] | None:
    place = finding.location
    return (place.file, place.line) if place is not None else None
