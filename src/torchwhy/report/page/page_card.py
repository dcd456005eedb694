"""Findings as the page tells them: the same words as in the terminal, and nothing left out."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.finding import Finding, Fix
from torchwhy.report.model import Report
from torchwhy.report.page.page_curves import trial_curve
from torchwhy.report.page.page_model import CheckShown, FindingShown, FixShown
from torchwhy.report.wording import (
    CERTAINTY_WORDS,
    OFFERED,
    SAFETY_WORDS,
    VERDICT_WORDS,
    claim_of,
    since,
)

DIFF_KINDS = {"+": "added", "-": "removed", "@": "place"}


def finding_shown(report: Report, finding: Finding) -> FindingShown:
    """Return a finding with its evidence, consequences and fixes."""
    name = report.id_of(finding)
    when = since(finding)
    return FindingShown(
        id=name,
        detector=finding.detector,
        severity=finding.severity,
        certainty=CERTAINTY_WORDS[finding.certainty],
        message=finding.message,
        place=_place(finding),
        facts=(("since", when),) if when else (),
        evidence=tuple(claim_of(finding, evidence) for evidence in finding.evidence),
        led_to=tuple(_consequences(finding, depth=0)),
        fixes=tuple(
            fix_shown(fix, f"{name}-fix-{number}")
            for number, fix in enumerate(finding.fixes, start=1)
        ),
    )


def _place(finding: Finding) -> str | None:
    span = finding.location
    if span is None:
        return None
    return f"{span} (module {span.module})" if span.module else str(span)


def _consequences(finding: Finding, depth: int) -> Iterator[tuple[int, str]]:
    for explained in finding.explains:
        place = f" [{explained.location}]" if explained.location is not None else ""
        yield depth, f"{explained.message}{place}"
        yield from _consequences(explained, depth + 1)


def fix_shown(fix: Fix, name: str) -> FixShown:
    """Return a change, its diff line by line, and its trial."""
    words = ""
    if fix.can_be_tried or fix.trial.verdict != "not-run":
        words = f"{SAFETY_WORDS[fix.safety]}; {VERDICT_WORDS[fix.trial.verdict]}"
    return FixShown(
        title=fix.title,
        verdict=words,
        is_good=fix.trial.verdict in OFFERED,
        diff=tuple(
            ("place" if line.startswith("+++ ") else DIFF_KINDS.get(line[:1], "context"), line)
            for line in fix.diff.splitlines()
            if not line.startswith("--- ")
        ),
        summary=fix.trial.summary,
        chart=trial_curve(fix.trial, name),
    )


def checks_shown(report: Report) -> tuple[CheckShown, ...]:
    """Return the questions: those with bad news first, those that could not be asked last."""
    order = {"no": 0, "yes": 1, "could-not-ask": 2}
    shown = []
    for check in sorted(report.checks, key=lambda one: order[one.answer]):
        measured = check.reason if check.measured is None else check.measured.sentence
        found = [
            f"{report.id_of(f)} {f.detector}" for f in report.findings if f.detector in check.causes
        ]
        words = "; ".join([*found, *([measured] if measured else [])])
        shown.append(CheckShown(check.answer, check.question.words, words))
    return tuple(shown)
