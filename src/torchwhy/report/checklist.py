"""The checks of a run as text: how many could be made, and the list of them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from torchwhy.finding import Finding
from torchwhy.question import Check
from torchwhy.report.model import Report

SIGNS = {
    "yes": ("✓", "green"),
    "noted": ("!", "bold cyan"),
    "no": ("✗", "bold red"),
    "could-not-ask": ("–", "dim"),
}


def checklist(report: Report, *, of: str = "") -> Iterator[Text | Table]:
    """Yield a line that counts the answers, then every question with its answer, those that matter most first."""
    answers = [_sign_of(report, check) for check in report.checks]
    questions = "1 question" if len(answers) == 1 else f"{len(answers)} questions"
    noted = f"{answers.count('noted')} with a note, " if "noted" in answers else ""
    yield Text(
        f"torchwhy{f' {of}' if of else ''}: {questions}, {answers.count('yes')} fine, "
        f"{answers.count('no')} not, {noted}{answers.count('could-not-ask')} could not be asked"
    )
    if not any(check.was_made for check in report.checks) and report.unseen:
        return  # What was not seen is the reason for each of them.
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in sorted(report.checks, key=lambda one: _importance(report, one)):
        sign, style = SIGNS[_sign_of(report, check)]
        for line in _answers(report, check):
            table.add_row(Text(f"  {sign}", style=style), line)
    yield table


def _sign_of(report: Report, check: Check) -> str:
    """Return the answer; `noted` for one that is no fault, but about which a cause has something to say."""
    return "noted" if check.answer == "yes" and _findings(report, check) else check.answer


def _findings(report: Report, check: Check) -> list[Finding]:
    return [one for one in report.findings if one.detector in check.causes]


def _importance(report: Report, check: Check) -> int:
    """Return the rank of a no, a note, what torchwhy could not see, what is fine, what the program has not."""
    sign = _sign_of(report, check)
    if sign == "could-not-ask":
        return 2 if check.is_blind else 4
    return {"no": 0, "noted": 1, "yes": 3}[sign]


def _answers(report: Report, check: Check) -> Iterator[Text]:
    """Yield what was found, with its place and cause; else what was measured, or why nothing was."""
    findings = _findings(report, check) if check.was_made else []
    for one in findings:
        text = Text(one.message)
        if one.location is not None:
            text.append(f"  {one.location}", style="bold")
        text.append(f"  [{one.detector}]", style="dim")
        yield text
    if findings:
        return
    words = check.reason if check.measured is None else check.measured.sentence
    topic = check.question.slug.replace("-", " ")
    text = Text(topic, style="" if check.was_made else "dim")
    if words:
        text.append(f": {words}")
    yield text
