"""The checks of a run as text: how many could be made, and the list of them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from torchwhy.question import Check
from torchwhy.report.model import Report

SIGNS = {"yes": ("✓", "green"), "no": ("✗", "bold red"), "could-not-ask": ("–", "dim")}


def counted(steps: int) -> str:
    """Return `1 step` or `3 steps`."""
    return "1 step" if steps == 1 else f"{steps} steps"


def nothing_found(report: Report) -> str:
    """Return that nothing was found, in how many steps, and how many checks could be made."""
    notes = len(report.findings)
    words = "nothing found"
    if notes:
        words = f"{notes} {'note' if notes == 1 else 'notes'}, nothing else found"
    if report.steps:
        words += f" in {counted(report.steps)}"
    made = sum(check.was_made for check in report.checks)
    if report.checks:
        words += (
            f" ({made} of {len(report.checks)} checks could be made; "
            "`torchwhy report --checks` lists them)"
        )
    return words


def checklist(report: Report, *, of: str = "") -> Iterator[Text | Table]:
    """Yield a line that counts the answers, then every question with its answer, those that matter most first."""
    answers = [check.answer for check in report.checks]
    questions = "1 question" if len(answers) == 1 else f"{len(answers)} questions"
    yield Text(
        f"torchwhy{f' {of}' if of else ''}: {questions}, {answers.count('yes')} fine, "
        f"{answers.count('no')} not, {answers.count('could-not-ask')} could not be asked"
    )
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in sorted(report.checks, key=_importance):
        sign, style = SIGNS[check.answer]
        for line in _answers(report, check):
            table.add_row(Text(f"  {sign}", style=style), line)
    yield table


def _importance(check: Check) -> int:
    """Return 0 for a no, then what torchwhy could not see, what is fine, what the program gives no occasion for."""
    if check.answer == "no":
        return 0
    return 2 if check.was_made else 1 if check.is_blind else 3


def _answers(report: Report, check: Check) -> Iterator[Text]:
    """Yield what was found, with its place and cause; else what was measured, or why nothing was."""
    findings = [one for one in report.findings if one.detector in check.causes]
    for one in findings if check.answer == "no" else []:
        text = Text(one.message)
        if one.location is not None:
            text.append(f"  {one.location}", style="bold")
        text.append(f"  [{one.detector}]", style="dim")
        yield text
    if check.answer == "no" and findings:
        return
    words = check.reason if check.measured is None else check.measured.sentence
    topic = check.question.slug.replace("-", " ")
    text = Text(topic, style="dim" if check.answer == "could-not-ask" else "")
    if words:
        text.append(f": {words}")
    for one in findings:
        text.append(f"  {report.id_of(one)} [{one.detector}]", style="dim")
    yield text
