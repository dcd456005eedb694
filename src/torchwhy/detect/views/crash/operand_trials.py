"""Changes that were tried on the operands of a crash: what each is, in words, and as a fix."""

from __future__ import annotations

from torchwhy.finding import Fix, Safety, Trial
from torchwhy.record.events import OperandTrial

BATCHED_MODEL = "add-batch-to-model"  # the trial of the whole model on a batch of one


def words_of(trial: OperandTrial) -> str:
    """Return what was changed."""
    return trial.change


def fix_of(trial: OperandTrial) -> Fix:
    """Return a change that was tried as a fix: a patch where the edit is certain, an idea otherwise."""
    safety: Safety = "changes-results" if trial.diff else "show-only"
    verdict = Trial(verdict="cured" if trial.worked else "no-difference")
    return Fix(title=words_of(trial), diff=trial.diff, safety=safety, trial=verdict)
