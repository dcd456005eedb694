"""Does no row outweigh its batch?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import answered, experiment
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

SLUG = "rows-weigh-alike"
# A row is an outlier if it lies so many times farther away than 99 % of the rows, and harms if the gradient of its
# batch is so many times longer with it. Rows of a normal variable reach 2 and 2.
TIMES = 10.0
ALIKE = 2.0  # The gradient changes by less if any other row is left out.


class RowsWeighAlike(Diagnosis):
    """The gradient of a batch with and without the row that lies farthest from the others."""

    ratio: float
    distance: float
    usual: float
    message = (
        "without its farthest row the gradient of a batch is {share:.0%} as long; that row lies {times:.2g} times as "
        "far from the median as 99 % of all rows"
    )

    @property
    def share(self) -> float:
        """Return the length of the gradient without the row, as a share of that with it."""
        return 1 / max(self.ratio, 1e-12)

    @property
    def times(self) -> float:
        """Return how many times as far away as usual the row lies."""
        return self.distance / max(self.usual, 1e-12)


def facts_of(trace: Trace) -> Mapping[str, Any]:
    """Return what was measured."""
    return next((one.answer for one in answered(trace, SLUG)), {})


def ratio_of(facts: Mapping[str, Any]) -> float:
    """Return how many times longer the gradient is with the farthest row."""
    return decode(facts["gradient"]) / max(decode(facts["without"]), 1e-300)


def outweighs(facts: Mapping[str, Any]) -> bool:
    """Tell whether a row far from all others makes up nearly the whole gradient, and no other row does."""
    if not facts or decode(facts["distance"]) < TIMES * decode(facts["usual"]):
        return False
    whole = decode(facts["gradient"])
    others = list(facts["without others"])
    if not others or ratio_of(facts) < TIMES:
        return False
    return all(whole / ALIKE <= one <= whole * ALIKE for one in others)


def _measured(trace: Trace) -> Diagnosis:
    facts = facts_of(trace)
    return RowsWeighAlike(
        ratio=ratio_of(facts), distance=decode(facts["distance"]), usual=decode(facts["usual"])
    )


QUESTION = ask(
    SLUG,
    "Does no single row outweigh its batch?",
    experiment(SLUG, "no training step was captured"),
    by=_measured,
    in_rehearsal=True,
)
