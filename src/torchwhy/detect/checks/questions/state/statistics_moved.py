"""Do the running statistics that evaluation uses describe what training made?"""

from __future__ import annotations

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import Need
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.kept.kept_state import NormStatistics
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace


class StatisticsSeen(Diagnosis):
    """How far the running statistics of a layer are from those of a batch."""

    layer: str
    mean_off: float
    variance_ratio: float
    message = (
        "in eval mode the batch lies {mean_off:.2g} standard deviations from the running mean of "
        "`{layer}`, its variance is {variance_ratio:.2g} times the running one"
    )


def measure(trace: Trace) -> Diagnosis | None:
    """Return the layer that is furthest off."""
    seen = trace.of(NormStatistics)
    if not seen:
        return None
    worst = max(seen, key=lambda one: decode(one.mean_off))
    return StatisticsSeen(
        layer=worst.layer,
        mean_off=decode(worst.mean_off),
        variance_ratio=decode(worst.variance_ratio),
    )


STATISTICS = Need(
    lambda trace: bool(trace.of(NormStatistics)),
    "no model with running statistics was evaluated in eval mode",
    probes=("mode probe", "dropout probe"),
)
QUESTION = ask("statistics-moved", "Do running statistics fit the data?", STATISTICS, by=measure)
