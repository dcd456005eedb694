"""Changes tried on the operands of a crash, in words and as fixes."""

from __future__ import annotations

from torchwhy.finding import Fix, Safety, Trial
from torchwhy.record.events import Layer, OperandTrial

BATCHED_MODEL = "add-batch-to-model"  # The trial of the whole model on a batch of one.
BATCH_OF_TWO = "add-batch-of-two-to-model"  # On two samples, if a batch of one has no statistics.


def words_of(trial: OperandTrial, layer: Layer | None) -> str:
    """Return the change in words; `layer` is the one that raised."""
    if trial.change:
        return trial.change
    match trial.kind:
        case "resize-layer":
            made = layer.kind if layer is not None else "Module"
            return (
                f"make {trial.target} an nn.{made} with {trial.parameter}={trial.right} instead of "
                f"{trial.wrong}"
            )
        case "resize-table":
            least = "at least " if trial.at_least else ""
            return f"make {trial.target} with {least}{trial.right} rows instead of {trial.wrong}"
        case "swap-arguments":
            order = ", ".join(trial.order)
            return f"pass the model's output first and the target second: {order}"
        case "add-batch-of-two-to-model":
            given = trial.target or "the input"
            return (
                f"pass {given} in a batch of two or more samples: one alone has no batch statistics"
            )
        case "use-reshape":
            return f"use `reshape` instead of `view`: `{trial.target}.reshape(…)`"
    if trial.target:
        return f"{trial.target}{trial.method}"
    return f"{trial.method} on the input"


def fix_of(trial: OperandTrial, layer: Layer | None) -> Fix:
    """Return a tried change as a fix: a patch if the edit is certain, otherwise advice.

    It was tried on the operands of one call, so it may not fit the others.
    """
    safety: Safety = "changes-results" if trial.diff else "show-only"
    verdict = Trial(verdict="fits-this-call" if trial.worked else "no-difference")
    return Fix(title=words_of(trial, layer), diff=trial.diff, safety=safety, trial=verdict)
