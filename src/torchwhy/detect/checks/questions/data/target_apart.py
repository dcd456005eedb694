"""Is the answer not among the inputs?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import Need, answered, experiment
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

SLUG = "target-apart"
FEW = 20  # values that classes and ratings have


class NearestColumn(Diagnosis):
    """How far the column of the inputs stays from the target that comes nearest to it."""

    column: int
    columns: int
    rows: int
    distance: float
    message = (
        "no column of the inputs is the target in {rows} captured rows; column {column} of {columns} comes nearest, "
        "with errors of up to {distance:.2g} of the target's range"
    )


class TargetAmongInputs(Diagnosis):
    """A column of the inputs is the target itself."""

    column: int
    columns: int
    rows: int
    is_equal: bool
    message = "column {column} of the {columns} columns of the inputs {is_target} in all {rows} captured rows"
    advice = "leave that column out of the inputs: `x = table[:, :-1]` if it is the last one"

    @property
    def is_target(self) -> str:
        """Return how the column follows from the target."""
        return "equals the target" if self.is_equal else "is the target on another scale"


class TargetEndsInputs(Diagnosis):
    """The target is the last step of the sequence that goes in."""

    steps: int
    rows: int
    message = (
        "the target equals the last of the {steps} steps of its input sequence in all {rows} captured rows: "
        "there is nothing to predict"
    )
    advice = "begin the target one step later than the window ends: `series[i + length]` for `series[i : i + length]`"


def _facts(trace: Trace) -> Mapping[str, Any]:
    return next((one.answer for one in answered(trace, SLUG)), {})


def _measured(trace: Trace) -> NearestColumn:
    facts = _facts(trace)
    return NearestColumn(
        column=int(facts["column"]),
        columns=int(facts["columns"]),
        rows=int(facts["rows"]),
        distance=decode(facts["distance"]),
    )


def among_inputs(trace: Trace) -> TargetAmongInputs | TargetEndsInputs | None:
    """Return the column if it equals the target, or names its classes, or the steps that the target ends."""
    facts = _facts(trace)
    if not facts or not facts["same"]:
        return None
    if int(facts.get("values", FEW + 1)) > FEW and not facts["related"]:
        return None
    if "last step" in facts:
        return TargetEndsInputs(steps=int(facts["steps"]), rows=int(facts["rows"]))
    is_equal = bool(facts["equal"])
    if not is_equal and int(facts["values"]) > FEW:
        return None
    return TargetAmongInputs(
        column=int(facts["column"]),
        columns=int(facts["columns"]),
        rows=int(facts["rows"]),
        is_equal=is_equal,
    )


def _scaled(trace: Trace) -> str:
    facts = _facts(trace)
    how = "is the target" if facts["equal"] else "is the target on another scale"
    return (
        f"column {int(facts['column'])} of the inputs {how}, as in data that is made up: only "
        "you can tell whether it is known when the model is used"
    )


# A straight line through a measured number is no proof: data for a demonstration are made like that.
APART = Need(lambda trace: not _facts(trace) or not _facts(trace)["same"], _scaled)
QUESTION = ask(
    SLUG,
    "Is the target not among the inputs?",
    experiment(SLUG, "no training step was captured"),
    APART,
    by=_measured,
    denied=among_inputs,
    in_rehearsal=True,
)
