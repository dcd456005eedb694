"""A standstill in which a run ended → its finding leads; errors about lost ranks follow from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from torchwhy.detect.hangs.hang_causes import finding_of, mismatch_in
from torchwhy.explain.culprit import is_about_another
from torchwhy.finding import Finding
from torchwhy.record.standing.collective_log import read_calls
from torchwhy.record.standing.standstill import read_standstill


def lead_with_standstill(findings: list[Finding], run_directory: Path) -> list[Finding]:
    """Return the findings with the standstill: an error that is proven leads, a note comes last."""
    standstill = read_standstill(run_directory)
    if standstill is None:
        return findings
    found = finding_of(standstill)
    if found.severity == "note":
        return [*findings, found]
    followers = tuple(one for one in findings if is_about_another(one))
    others = [one for one in findings if not is_about_another(one)]
    return [replace(found, explains=followers), *others]


def lead_with_mismatch(findings: list[Finding], run_directory: Path) -> list[Finding]:
    """Return the findings with a mismatch of collectives on top, if lost ranks are all that is known otherwise.

    Some backends end the process that gets a tensor of another size; it leaves no exception, only its last collectives.
    """
    if not findings or not is_about_another(findings[0]):
        return findings
    every = [read_calls(path) for path in sorted(run_directory.glob("process-*.calls"))]
    calls = sorted((one for one in every if one is not None), key=lambda one: one.rank)
    if len({one.rank for one in calls}) < len(calls):  # A launcher started the ranks again.
        return findings
    found = mismatch_in(calls)
    if found is None:
        return findings
    first, *others = findings
    followers = (replace(first, explains=()), *first.explains)
    return [replace(found, step=first.step, explains=followers), *others]


def standing_notes(run_directory: Path) -> list[str]:
    """Return where each process stood when the run was ended for it; the evidence of an error says it already."""
    standstill = read_standstill(run_directory)
    if standstill is None or not standstill.stopped:
        return []
    found = finding_of(standstill)
    return [one.claim for one in found.evidence] if found.severity == "note" else []
