"""Can it learn one batch by heart?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import Need, answered, experiment
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

SLUG = "one-batch-by-heart"


class LearnedByHeart(Diagnosis):
    """How far the loss of one batch fell, with Adam and with the program's own optimizer."""

    first: float
    last: float
    own: float | None
    updates: int
    refused: str | None
    message = "{first:.4g} → {last:.4g} in {updates} updates with Adam, {with_own}"

    @property
    def with_own(self) -> str:
        """Return what the program's own optimizer reaches, or why it was not tried."""
        if self.own is not None:
            return f"→ {self.own:.4g} with your optimizer"
        return f"not tried with your optimizer: {self.refused}"


class NoGradient(Diagnosis):
    """No gradient reaches any parameter, at these weights and at others."""

    first: float
    draws: int
    message = (
        "the loss stays at {first:.4g}: the gradient of every parameter is exactly 0, "
        "also at {draws} other weights"
    )


class SettingsDoNotLearn(Diagnosis):
    """The wiring learns one batch, the program's own optimizer does not."""

    first: float
    last: float
    own: float
    rate: float
    updates: int
    message = (
        "one batch goes {first:.4g} → {own:.4g} in {updates} updates with your optimizer; "
        "with Adam(lr={rate:g}) {first:.4g} → {last:.4g}"
    )


def _answer(trace: Trace) -> Mapping[str, Any]:
    return next((one.answer for one in answered(trace, SLUG)), {})


def _measured(trace: Trace) -> LearnedByHeart | None:
    facts = _answer(trace)
    own = decode(facts["own"]) if "own" in facts else None
    return LearnedByHeart(
        first=decode(facts["first"]),
        last=decode(facts["ours"]),
        own=own,
        updates=int(facts["updates"]),
        refused=facts.get("own refused"),
    )


def _denied(trace: Trace) -> Diagnosis | None:
    facts = _answer(trace)
    if not facts:
        return None
    first = decode(facts["first"])
    elsewhere = facts.get("gradients elsewhere")
    if elsewhere is not None:
        is_flat = first != 0 and not any(elsewhere)
        return NoGradient(first=first, draws=len(elsewhere)) if is_flat else None
    last = decode(facts["ours"])
    own = decode(facts["own"]) if "own" in facts else None
    if own is None or not _halves(first, last) or own < first:
        return None
    return SettingsDoNotLearn(
        first=first,
        last=last,
        own=own,
        rate=decode(facts["rate"]),
        updates=int(facts["updates"]),
    )


def _halves(first: float, last: float) -> bool:
    """Tell whether a loss fell to half: of one with a floor near its start, a rise says little."""
    return last < (0.5 * first if first > 0 else first)


def _falls(trace: Trace) -> bool:
    facts = _answer(trace)
    return "ours" in facts and decode(facts["ours"]) < decode(facts["first"])


FELL = Need(_falls, "the loss of one batch did not fall, and may be at its floor")
QUESTION = ask(
    SLUG,
    "Can it learn one batch by heart?",
    experiment(SLUG, "no training step was captured"),
    FELL,
    by=_measured,
    denied=_denied,
    in_rehearsal=True,
)
