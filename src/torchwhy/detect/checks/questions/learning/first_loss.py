"""Is the first loss what guessing gives?"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import Need, answered, experiment
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

SLUG = "first-loss"
NEAR = 2.0  # times the loss of a guess: fresh layers put some spread on top of it
FAR = 10.0  # times what torch's own layers give: no usual way to draw weights differs by so much
ENOUGH_UPDATES = 20  # A first loss that these bring down to that of a guess did no harm.


class FirstLoss(Diagnosis):
    """The first loss beside that of the best constant guess.

    Below it is no fault: weights that were loaded begin there, and outputs that start from the input (a residual, the
    logits of a frozen model). Above it is one if fresh layers of torch's own begin far lower on the same batch, and
    the updates of the rehearsal do not bring the loss down to that of the guess.
    """

    loss: float
    guess: float
    loss_kind: str
    message = (
        "the first loss is {loss:.4g}; the best constant guess gives {guess:.4g} ({loss_kind})"
    )


class WeightsTooLarge(FirstLoss):
    """The weights of the program begin far above the guess, fresh ones do not, and training has not made up for it."""

    fresh: list[float]
    updates: int
    last: float
    message = (
        "the first loss is {loss:.4g}, the best constant guess gives {guess:.4g} ({loss_kind}), and weights as torch "
        "draws them {lowest:.4g} to {highest:.4g} on the same batch; after {updates} updates it is still {last:.4g}"
    )

    @property
    def lowest(self) -> float:
        """Return the lowest loss of fresh weights."""
        return min(self.fresh)

    @property
    def highest(self) -> float:
        """Return the highest loss of fresh weights."""
        return max(self.fresh)


def _too_large(trace: Trace) -> WeightsTooLarge | None:
    found = _measured(trace)
    facts: Mapping[str, Any] = next((one.answer for one in answered(trace, SLUG)), {})
    if found is None or "fresh" not in facts or int(facts["updates"]) < ENOUGH_UPDATES:
        return None
    fresh, last = list(facts["fresh"]), median(facts["last"])
    if found.loss <= FAR * max(found.guess, *fresh) or last <= NEAR * found.guess:
        return None
    return WeightsTooLarge(
        loss=found.loss,
        guess=found.guess,
        loss_kind=found.loss_kind,
        fresh=fresh,
        updates=int(facts["updates"]),
        last=last,
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
        "as with loaded weights, or outputs that start from the inputs"
        if found.loss < found.guess
        else "as the scale of inputs, targets or weights can make it"
    )
    return f"{found}: {why}, so it tells nothing about the rest"


QUESTION = ask(
    SLUG,
    "Is the first loss what guessing gives?",
    experiment(SLUG, "no training step was captured"),
    Need(_is_near, _is_far),
    by=_measured,
    denied=_too_large,
    in_rehearsal=True,
)
