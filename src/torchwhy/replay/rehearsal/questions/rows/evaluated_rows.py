"""Are evaluated rows trained on? The rows that the model meets without a graph, beside those of its training steps."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import pairwise

from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.step_collection import CapturedSteps

SLUG = "evaluated-rows"
FEWEST_STEPS = 10
BLOCKS = 2  # Training rows and new ones, put one after the other on purpose, as a memory and its queries.


def ask(steps: CapturedSteps) -> Answer:
    """Return how many rows of the batches that are evaluated again and again were trained on.

    A batch of training rows alone measures training or gathers statistics, so only batches count that hold rows of both
    kinds in turn, as an order that was drawn twice gives them.
    """
    met = steps.rows
    repeated = [one for one in met.batches.values() if one.times > 1]
    if met.steps < FEWEST_STEPS or not met.trained or not repeated:
        raise CannotAsk("no batch of rows was evaluated twice beside the training")
    trained = met.trained.keys()
    mixed = [
        one
        for order, one in met.batches.items()
        if one.times > 1 and _blocks(order, trained) > BLOCKS
    ]
    rows = frozenset[int]().union(*(one.rows for one in mixed))
    every = frozenset[int]().union(*(one.rows for one in repeated))
    late = sum(first > met.steps / 2 for first in met.trained.values())
    return Answer(
        {
            "trained": len(met.trained),
            "new in second half": late,
            "evaluated": len(rows),
            "shared": len(rows & trained),
            "covered": len(every & trained),
            "twice": sum(one.count for one in mixed) - len(rows),
            "steps": met.steps,
        },
        {"loss": steps.main.steps[0].place},
    )


def _blocks(order: Sequence[int], trained: Container[int]) -> int:
    """Return how many runs of training rows and of other rows a batch consists of."""
    kinds = [digest in trained for digest in order]
    return 1 + sum(one != following for one, following in pairwise(kinds))
