"""A standstill in which a run ended → its finding leads; errors about lost ranks follow from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from torchwhy.detect.hangs.hang_causes import finding_of
from torchwhy.explain.culprit import is_about_another
from torchwhy.finding import Finding
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


def standing_notes(run_directory: Path) -> list[str]:
    """Return where each process stood when the run was ended for it; the evidence of an error says it already."""
    standstill = read_standstill(run_directory)
    if standstill is None or not standstill.stopped:
        return []
    found = finding_of(standstill)
    return [one.claim for one in found.evidence] if found.severity == "note" else []
