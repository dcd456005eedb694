"""Do the labels matter?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.questions.data import rows_weigh_alike
from torchwhy.detect.checks.recorded_facts import Need, answered, experiment
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

SLUG = "labels-matter"
# A planted relation must show this many times more clearly than chance moves the loss from one exchange to the next.
CLEARLY = 3
# Labels are related to inputs if they follow them more closely than so in random orders: between nearest neighbours,
# in a column, its square or the product of two, and in the product of three or four, which are many and rarely matter.
CHANCES = {"neighbours": 0.05, "columns": 0.02, "products": 0.002}


class LabelsMatter(Diagnosis):
    """Held-out loss after training with the labels as they are, and exchanged."""

    true: float
    exchanged: list[float]
    held_out: int
    message = (
        "with labels exchanged the loss of {held_out} held-out batches stays at {best:.4g}, "
        "with yours it falls to {true:.4g}"
    )

    @property
    def best(self) -> float:
        """Return the lowest loss with exchanged labels."""
        return min(self.exchanged)


class LabelsUnrelated(LabelsMatter):
    """Exchanged labels train as well, although a planted relation is found."""

    planted: float
    planted_exchanged: float
    message = (
        "labels exchanged between samples train as well as yours: {best:.4g} and {true:.4g} on {held_out} held-out "
        "batches; labels made from the inputs are learned ({planted_exchanged:.4g} → {planted:.4g})"
    )


def _answer(trace: Trace) -> Mapping[str, Any]:
    return next((one.answer for one in answered(trace, SLUG)), {})


def _verdict(facts: Mapping[str, Any]) -> str:
    """Return yes if the labels beat all exchanges by more than their spread, no if they lie within it, else unclear.

    A no also needs planted relations that are found: the batches suffice to learn from.
    """
    if not facts:
        return "unclear"
    true, wrong = decode(facts["true"]), list(facts["exchanged"])
    spread = max(wrong) - min(wrong)
    if true < min(wrong) - spread:
        return "yes"
    if sum(wrong) / len(wrong) - true > spread or not _finds(facts, "linear", spread):
        return "unclear"
    # A straight line cannot fit a product; another model must find it, or the batches are too few for a hard relation.
    is_hard = not facts.get("affine", False) and not _finds(facts, "product", spread)
    return "unclear" if is_hard or _are_related(facts) else "no"


def _are_related(facts: Mapping[str, Any]) -> bool:
    """Tell whether labels and inputs have to do with each other, although the model does not learn it from few rows."""
    return any(decode(facts.get(name, 0.0)) < chance for name, chance in CHANCES.items())


def _verdict_on(trace: Trace) -> str:
    """Return the verdict; if one row outweighs all others, the losses are those of that row and compare nothing."""
    if rows_weigh_alike.outweighs(rows_weigh_alike.facts_of(trace)):
        return "unclear"
    return _verdict(_answer(trace))


def _gain(facts: Mapping[str, Any], name: str, reached: str) -> float:
    if reached not in facts:
        return 0.0
    return decode(facts[f"planted {name} exchanged"]) - decode(facts[reached])


def _finds(facts: Mapping[str, Any], name: str, spread: float) -> bool:
    return _gain(facts, name, f"planted {name}") > CLEARLY * spread


def _measured(trace: Trace) -> LabelsMatter:
    facts = _answer(trace)
    return LabelsMatter(
        true=decode(facts["true"]),
        exchanged=list(facts["exchanged"]),
        held_out=int(facts["held out"]),
    )


def unrelated(trace: Trace) -> LabelsUnrelated | None:
    """Return the losses, if exchanged labels train as well although planted ones are learned."""
    facts = _answer(trace)
    if _verdict_on(trace) != "no":
        return None
    return LabelsUnrelated(
        true=decode(facts["true"]),
        exchanged=list(facts["exchanged"]),
        held_out=int(facts["held out"]),
        planted=decode(facts["planted linear"]),
        planted_exchanged=decode(facts["planted linear exchanged"]),
    )


CLEAR = Need(
    lambda trace: _verdict_on(trace) != "unclear",
    "the captured batches are too few to tell the labels from exchanged ones",
)
QUESTION = ask(
    SLUG,
    "Do the labels matter?",
    experiment(SLUG, "no training step was captured"),
    CLEAR,
    by=_measured,
    denied=unrelated,
    in_rehearsal=True,
)
