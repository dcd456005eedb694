"""The story of an exception: told once, by the detector that says most; under a bad value, if that brought it about."""

from __future__ import annotations

from torchwhy.detect.registry import all_detectors
from torchwhy.finding import Finding
from torchwhy.record.trace import Trace

# An exception that fits several causes is told by the one with the highest number; the others have 0.
TELLING = {
    "batchnorm-of-one": 3,
    "ragged-last-batch": 2,
    "ragged-batch": 1,
    "unexplained-error": -1,
}


def is_error(finding: Finding) -> bool:
    """Tell whether a finding is about an exception."""
    detector = all_detectors().get(finding.detector)
    return detector is not None and ".errors." in detector.__module__


def keep_one_per_crash(findings: list[Finding]) -> list[Finding]:
    """Drop what is said of an exception by a detector that says less about it than another one."""
    best: dict[object, int] = {}
    told = {_crash_of(finding) for finding in findings if is_error(finding)}
    for finding in findings:
        crash = _crash_of(finding)
        if crash in told:
            best[crash] = max(best.get(crash, -1), _telling(finding))
    return [
        finding
        for finding in findings
        if not is_error(finding) or _telling(finding) == best[_crash_of(finding)]
    ]


def _telling(finding: Finding) -> int:
    return TELLING.get(finding.detector, 0)


def _crash_of(finding: Finding) -> object:
    """Return what two findings of one exception share."""
    return finding.rank, finding.crash


def died_of_a_value(finding: Finding, trace: Trace) -> bool:
    """Tell whether an exception came after a bad value had raised the alarm."""
    if not is_error(finding) or finding.step is None:
        return False
    return any(alarm.step <= finding.step for alarm in trace.alarms)
