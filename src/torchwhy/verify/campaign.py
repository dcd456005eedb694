"""The trials of one diagnosed run: candidates one after the other, in bounded time, and what they prove."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from torchwhy.finding import Finding, Fix, Trial
from torchwhy.verify.candidates import candidates
from torchwhy.verify.course import Course
from torchwhy.verify.edits import EditError
from torchwhy.verify.trial import Laboratory, try_fix

ENOUGH_SECONDS = 2.0  # with less left a trial would only be started to be killed
STARTING_SECONDS = 5.0  # importing torch and building the model, on top of what the steps take
RANK = {"cured": 0, "symptom-only": 1, "no-difference": 2, "not-run": 3}
SAFETY_RANK = {"safe": 0, "changes-results": 1, "show-only": 2}

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """The finding with its tried fixes, best first, and sentences on what was not tried and why."""

    finding: Finding
    notes: tuple[str, ...] = ()


def try_all(
    laboratory: Laboratory, findings: Sequence[Finding], *, limit_seconds: float, tell: Tell
) -> Outcome:
    """Try every candidate for the laboratory's finding until one cures it and trains well, or time is up."""
    finding = laboratory.finding
    chosen = candidates(finding, laboratory.directory)
    if not chosen:
        return Outcome(finding, ("no change of the source is known that could be tried for this cause.",))
    deadline = time.monotonic() + limit_seconds
    control = laboratory.control(findings)
    notes: list[str] = []
    if not laboratory.is_repeatable(control):
        again = _control_again(laboratory, control, limit_seconds=limit_seconds / 2, tell=tell)
        if again.failure is None:
            return Outcome(finding, (NOT_REPEATED,))
    tried: list[Fix] = []
    for number, fix in enumerate(chosen, start=1):
        left = deadline - time.monotonic()
        if left < ENOUGH_SECONDS:
            notes.append(_not_tried(chosen[number - 1 :], limit_seconds))
            break
        tell(f"trial {number} of {len(chosen)}: {fix.title}")
        done = _tried(laboratory, fix, control=control, name=str(number), limit_seconds=left)
        tell(f"    {done.trial.summary or done.trial.verdict}")
        tried.append(done)
        if done.trial.verdict == "cured":
            break
    return Outcome(with_trials(finding, tried), tuple(notes))


NOT_REPEATED = (
    "no fix was tried: the program did not fail again when it was run a second time with the same seeds, "
    "so a run without failure would prove nothing."
)


def _control_again(laboratory: Laboratory, control: Course, *, limit_seconds: float, tell: Tell) -> Course:
    tell("the failure was not seen twice yet: running the program once more without a change")
    stop = laboratory.last_step(control)
    return laboratory.run("control", "", stop_after_step=stop, limit_seconds=limit_seconds)


def _tried(
    laboratory: Laboratory, fix: Fix, *, control: Course, name: str, limit_seconds: float
) -> Fix:
    try:
        return try_fix(laboratory, fix, control=control, name=name, limit_seconds=limit_seconds)
    except EditError as problem:
        return replace(fix, trial=Trial(summary=problem.message))


def _not_tried(fixes: Sequence[Fix], limit_seconds: float) -> str:
    names = "; ".join(fix.title for fix in fixes)
    return f"after {limit_seconds:g} seconds of trials these were not tried: {names}."


def with_trials(finding: Finding, tried: Sequence[Fix]) -> Finding:
    """Return the finding with the tried fixes first, best on top, and its advice after them."""
    ranked = sorted(tried, key=lambda fix: (RANK[fix.trial.verdict], SAFETY_RANK[fix.safety]))
    diffs = {fix.diff for fix in ranked}
    rest = [fix for fix in finding.fixes if not fix.diff or fix.diff not in diffs]
    is_cured = any(fix.trial.verdict == "cured" for fix in ranked)
    certainty = "verified" if is_cured else finding.certainty
    return replace(finding, fixes=(*ranked, *rest), certainty=certainty)
