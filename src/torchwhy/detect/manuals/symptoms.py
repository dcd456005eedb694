"""The symptoms that users see, by which `torchwhy explain` groups all causes.

A cause has the symptom of its family unless its class sets `symptom`.
"""

from __future__ import annotations

from typing import Literal

Symptom = Literal["nonfinite", "crash", "no-learning", "memory", "evaluation", "other"]

# `torchwhy explain` lists the groups in this order.
TITLES: dict[Symptom, str] = {
    "nonfinite": "NaN, Inf or exploding values",
    "crash": "The program crashes",
    "no-learning": "Training runs, but does not learn or learns badly",
    "memory": "Memory grows or runs out",
    "evaluation": "Evaluation gives wrong numbers, gets worse or wastes memory",
    "other": "Causes from other packages",
}
OF_FAMILY: dict[str, Symptom] = {
    "numerics": "nonfinite",
    "machines": "nonfinite",
    "errors": "crash",
    "wiring": "no-learning",
    "dynamics": "no-learning",
    "memory": "memory",
    "data": "no-learning",
    "ranks": "no-learning",
}
CAUSES = "torchwhy.detect.causes."


def symptom_of_family(module: str) -> Symptom:
    """Return the symptom of the family that a cause's module belongs to."""
    if not module.startswith(CAUSES):
        return "other"
    return OF_FAMILY[module.removeprefix(CAUSES).partition(".")[0]]
