"""The errors in the traces so far, of the causes that may be told before the end (`Detector.settled`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torchwhy.detect.allowances import Allowances
from torchwhy.detect.each_observation import findings_of
from torchwhy.detect.registry import detectors_for
from torchwhy.finding import Finding
from torchwhy.plain_data import dataclass
from torchwhy.record.trace import Trace
from torchwhy.report.model import build

ENOUGH_STEPS = 8  # Before that, a trace may lack a part of what its first step shows.


@dataclass(frozen=True)
class EarlyError:
    """An error as of the newest step of its rank; a settled one stays, however the run goes on."""

    finding: Finding
    is_settled: bool
    step: int


@dataclass(frozen=True)
class Judged:
    """The errors of one look, the newest step, and the pairs of rank and cause that could be judged."""

    errors: tuple[EarlyError, ...]
    step: int
    causes: frozenset[tuple[int, str]]


def judge(traces: Sequence[Trace], directory: Path, allow: Sequence[str] = ()) -> Judged:
    """Judge the traces of a running program; paths inside `directory`, where it started, become relative.

    Findings that the user allows, by `allow` or by comments in the source, are left out.
    """
    allowances = Allowances(allow, directory).with_comments_of(traces)
    errors: list[EarlyError] = []
    causes: set[tuple[int, str]] = set()
    for trace in traces:
        step = newest_step(trace)
        if step + 1 < ENOUGH_STEPS:
            continue
        for name, cause in detectors_for([trace]).items():
            if not cause.settled:
                continue
            detector = cause()
            try:
                found = [one for one in findings_of(detector, trace) if one.severity == "error"]
            except Exception:  # noqa: S112 - the report says that it failed; here nothing is known
                continue
            causes.add((trace.rank, name))
            errors += [
                EarlyError(_relative(one, directory), detector.is_settled(one.diagnosis), step)
                for one in found
                if allowances.silenced(one) is None
            ]
    newest = max(map(newest_step, traces), default=-1)
    return Judged(tuple(errors), newest, frozenset(causes))


def newest_step(trace: Trace) -> int:
    """Return the number of the newest recorded step, -1 if there is none."""
    return max((step.step for step in trace.steps), default=-1)


def _relative(finding: Finding, directory: Path) -> Finding:
    return build([finding], command=(), steps=0, directory=directory).findings[0]
