"""Is the first loss what guessing gives?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import Need, answered, experiment
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

SLUG = "first-loss"
NEAR = 2.0  # times the loss of a guess: fresh layers put some spread on top of it


class FirstLoss(Diagnosis):
    """The first loss beside that of the best constant guess.

    Neither direction is a fault by itself: weights that were loaded begin below it, a large initial scale above.
    """

    loss: float
    guess: float
    loss_kind: str
    message = (
        "the first loss is {loss:.4g}; the best constant guess gives {guess:.4g} ({loss_kind})"
    )


def _measured(trace: Trace) -> FirstLoss | None:
    for one in answered(trace, SLUG):
        facts: Mapping[str, Any] = one.answer
        return FirstLoss(
            loss=decode(facts["loss"]), guess=decode(facts["guess"]), loss_kind=str(facts["kind"])
        )
    return None


def _is_near(trace: Trace) -> bool:
    found = _measured(trace)
    return found is not None and found.guess / NEAR <= found.loss <= NEAR * found.guess


def _is_far(trace: Trace) -> str:
    found = _measured(trace)
    if found is None:
        return "no training step was captured"
    why = (
        "as with loaded weights"
        if found.loss < found.guess
        else "by the scale of the first outputs"
    )
    return f"{found}: {why}, so it tells nothing about the rest"


QUESTION = ask(
    SLUG,
    "Is the first loss what guessing gives?",
    experiment(SLUG, "no training step was captured"),
    Need(_is_near, _is_far),
    by=_measured,
    in_rehearsal=True,
)
