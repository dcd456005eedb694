"""The differential diagnosis: of several findings about one event or one excess, keep the one that explains it best.

Each cause measures and judges independently; this module decides between them, by the tables in precedence.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.explain.precedence import (
    FAMILIES_BEHIND_SYMPTOMS,
    GIVES_WAY_TO,
    MAY_EXPLAIN,
    NEARNESS,
    SYMPTOMS,
    family_of,
    is_about_exception,
    is_dynamics,
    specificity,
)
from torchwhy.finding import Finding
from torchwhy.record.trace import Trace


def keep_accountable(findings: list[Finding]) -> list[Finding]:
    """Return the findings whose cause covers its measured excess; of rivals, the one furthest back.

    A finding that gives way is replaced by its `account.otherwise`, or dropped if it has none.
    """
    covering = [one for one in (_covering(finding) for finding in findings) if one is not None]
    weighty = {one.detector for one in covering if one.severity != "note"}
    kept: list[Finding] = []
    for finding in covering:
        is_rival = finding.account is not None
        if is_rival and weighty.intersection(GIVES_WAY_TO.get(finding.detector, ())):
            kept += _otherwise(finding)
        else:
            kept.append(finding)
    return kept


def _covering(finding: Finding) -> Finding | None:
    if finding.account is None or finding.account.covers >= finding.account.excess:
        return finding
    return finding.account.otherwise


def _otherwise(finding: Finding) -> Iterator[Finding]:
    if finding.account is not None and finding.account.otherwise is not None:
        yield finding.account.otherwise


def keep_one_per_crash(findings: list[Finding]) -> list[Finding]:
    """Return the findings with only the most specific ones of each exception."""
    best: dict[object, int] = {}
    for finding in (one for one in findings if one.crash is not None):
        crash = _crash_of(finding)
        best[crash] = max(best.get(crash, specificity(finding)), specificity(finding))
    return [
        finding
        for finding in findings
        if finding.crash is None or specificity(finding) == best[_crash_of(finding)]
    ]


def _crash_of(finding: Finding) -> object:
    return finding.rank, finding.crash


def keep_most_specific(findings: list[Finding]) -> list[Finding]:
    """Return the findings without those whose births a more specific one reports as well."""
    return [finding for finding in findings if not _is_outdone(finding, findings)]


def _is_outdone(finding: Finding, findings: list[Finding]) -> bool:
    if not finding.births or is_dynamics(finding):
        return False
    return any(
        set(finding.births) <= set(other.births) and specificity(other) > specificity(finding)
        for other in findings
        if other is not finding and not is_dynamics(other)
    )


def causes_by_name(finding: Finding, findings: list[Finding]) -> Iterator[int]:
    """Yield the indices of findings that may explain this one, by the tables, the nearest cause first."""
    by_table = [
        place
        for place, other in enumerate(findings)
        if finding.detector in MAY_EXPLAIN.get(other.detector, ()) and _not_later(other, finding)
    ]
    yield from sorted(by_table, key=lambda place: NEARNESS.index(findings[place].detector))
    if finding.detector in (*SYMPTOMS, "learning-rate-too-low"):
        yield from (
            place
            for place, other in enumerate(findings)
            if other.severity != "note" and family_of(other) in FAMILIES_BEHIND_SYMPTOMS
        )


def _not_later(cause: Finding, consequence: Finding) -> bool:
    if cause.severity == "note":
        return False
    return cause.step is None or consequence.step is None or cause.step <= consequence.step


def follows_an_alarm(finding: Finding, trace: Trace) -> bool:
    """Tell whether a finding is about an exception that came after an alarm."""
    if not is_about_exception(finding) or finding.step is None:
        return False
    return any(alarm.step <= finding.step for alarm in trace.alarms)
