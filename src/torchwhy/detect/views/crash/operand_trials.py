"""Changes tried on the operands of a crash, in words and as fixes."""

from __future__ import annotations

from torchwhy.finding import Fix, Safety, Trial
from torchwhy.record.events import OperandTrial

BATCHED_MODEL = "add-batch-to-model"  # The trial of the whole model on a batch of one.


def words_of(trial: OperandTrial) -> str:
    """Return the change in words."""
    return trial.change


def fix_of(trial: OperandTrial) -> Fix:
    """Return a tried change as a fix: a patch if the edit is certain, otherwise advice."""
    safety: Safety = "changes-results" if trial.diff else "show-only"
    verdict = Trial(verdict="cured" if trial.worked else "no-difference")
    return Fix(title=words_of(trial), diff=trial.diff, safety=safety, trial=verdict)
