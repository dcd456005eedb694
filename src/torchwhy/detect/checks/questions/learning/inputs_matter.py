"""Do the inputs matter?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import Need, answered, experiment
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

SLUG = "inputs-matter"
ROUNDING = 1e-6  # of the loss: float32 sums in another order
GRADIENT = 1e-3  # of the gradient: rounding of its many sums stays below


class InputsMatter(Diagnosis):
    """The loss of one batch after training on it, with its own inputs and with those of other batches."""

    own: float
    others: list[float]
    message = (
        "the loss of a batch is {own:.4g} with its own inputs, {lowest:.4g} to {highest:.4g} "
        "with those of {count} others"
    )

    @property
    def lowest(self) -> float:
        """Return the lowest loss with other inputs."""
        return min(self.others)

    @property
    def highest(self) -> float:
        """Return the highest loss with other inputs."""
        return max(self.others)

    @property
    def count(self) -> int:
        """Return the number of other batches."""
        return len(self.others)


class InputsIgnored(InputsMatter):
    """The loss does not move when the inputs are exchanged."""

    message = "the loss of a batch is {own:.6g} with its own inputs and with those of {count} other batches"


class InputsLost(Diagnosis):
    """All inputs of all captured steps hold one value, which a conversion has made of many."""

    value: float
    steps: int
    message = (
        "all inputs of {steps} captured steps are {value:g}: "
        "a conversion to whole numbers has made one value of many"
    )


def lost(trace: Trace) -> InputsLost | None:
    """Return the value that all inputs have after a conversion to whole numbers."""
    facts = _answer(trace)
    if "lost" not in facts:
        return None
    return InputsLost(value=decode(facts["value"]), steps=int(facts["steps"]))


def _answer(trace: Trace) -> Mapping[str, Any]:
    return next((one.answer for one in answered(trace, SLUG)), {})


def _is_moved(facts: Mapping[str, Any]) -> bool:
    """Tell whether other inputs gave another gradient, or another loss before or after training."""
    pairs = [("loss", "others"), ("loss after", "others after")]
    if any(moved > GRADIENT for moved in facts.get("gradients", [])):
        return True
    return any(
        abs(other - decode(facts[own])) > ROUNDING * abs(decode(facts[own]))
        for own, others in pairs
        for other in facts[others]
    )


def _facts(trace: Trace, kind: type[InputsMatter]) -> InputsMatter:
    facts = _answer(trace)
    return kind(own=decode(facts["loss after"]), others=list(facts["others after"]))


def ignored(trace: Trace) -> InputsMatter | None:
    """Return the losses, if none moves with the inputs."""
    facts = _answer(trace)
    if (
        not facts
        or "lost" in facts
        or not facts["differ"]
        or decode(facts["loss"]) == 0
        or _is_moved(facts)
    ):
        return None
    return _facts(trace, InputsIgnored)


def _differ(trace: Trace) -> bool:
    facts = _answer(trace)
    return bool(facts) and "lost" not in facts and _is_moved(facts)


QUESTION = ask(
    SLUG,
    "Do the inputs matter?",
    experiment(SLUG, "no training step was captured"),
    Need(_differ, "no other inputs could be tried"),
    by=lambda trace: _facts(trace, InputsMatter),
    denied=lambda trace: lost(trace) or ignored(trace),
    in_rehearsal=True,
)
