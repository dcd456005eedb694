"""Do the inputs have a range that the model can learn from?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import answered, experiment
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

SLUG = "value-range"
HALF = 0.5  # As they are, the inputs bring the loss less than half as far down as divided by 255.
NOWHERE = 0.1  # The same: nearly nowhere.


class RangeSeen(Diagnosis):
    """The range of what meets the first parameters."""

    low: float
    high: float
    message = "what meets the first layers goes from {low:.3g} to {high:.3g}"


class BytesLearned(Diagnosis):
    """Inputs of 0 to 255 train about as well as of 0 to 1."""

    raw: float
    scaled: float
    message = "inputs of 0 to 255 train as they are: loss {raw:.4g}, divided by 255 {scaled:.4g}"


def facts_of(trace: Trace) -> Mapping[str, Any]:
    """Return what was measured."""
    return next((one.answer for one in answered(trace, SLUG)), {})


def reached(facts: Mapping[str, Any]) -> float | None:
    """Return the share of the fall of the loss with divided inputs that the inputs reach as they are, at best.

    None if the inputs are no bytes, or if divided ones are not learned either.
    """
    if not facts.get("bytes"):
        return None
    guess = decode(facts["scaled before"])
    raw, scaled = float(min(facts["raw"])), float(max(facts["scaled"]))
    fall = guess - scaled
    if not fall > HALF * NOWHERE * abs(guess):
        return None
    return max(0.0, (guess - raw) / fall)


def learned_nothing(facts: Mapping[str, Any]) -> bool:
    """Tell whether the program's own last losses are all about that of guessing, or above."""
    guess = decode(facts["scaled before"])
    return bool(min(facts["last"]) >= guess - NOWHERE * (guess - max(facts["scaled"])))


def _measured(trace: Trace) -> Diagnosis:
    facts = facts_of(trace)
    if facts["bytes"]:
        return BytesLearned(raw=min(facts["raw"]), scaled=max(facts["scaled"]))
    return RangeSeen(low=decode(facts["low"]), high=decode(facts["high"]))


QUESTION = ask(
    SLUG,
    "Do the inputs have a range that the model can learn from?",
    experiment(SLUG, "no training step was captured"),
    by=_measured,
    in_rehearsal=True,
)
