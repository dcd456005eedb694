"""Do rows that are alike have targets that are alike? A test for any relation, whatever the model can learn."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep
from torchwhy.replay.rehearsal.changed_runs import ChangedRuns
from torchwhy.replay.rehearsal.data_exchange import rows_of

ORDERS = 200  # of the targets, among which theirs is ranked
MOST_ROWS = 1024
ROUNDING = 1e-4  # of the outputs


def chance_of_neighbours(steps: Sequence[CapturedStep], inputs: int, target: int) -> float:
    """Return how often targets in random order differ as little between nearest neighbours as theirs do."""
    given = torch.cat([rows_of(step.slots[inputs].tensor) for step in steps])[:MOST_ROWS]
    rows = given.reshape(len(given), -1).double()
    rows = (rows - rows.mean(0)) / rows.std(0).clamp_min(1e-12)
    pool = torch.cat([rows_of(step.slots[target].tensor) for step in steps])[:MOST_ROWS]
    keys = pool.reshape(len(pool), -1)
    distances = torch.cdist(rows, rows).fill_diagonal_(torch.inf)
    nearest = distances.argmin(1)

    def apart(order: torch.Tensor) -> float:
        shown = keys[order]
        if keys.is_floating_point():
            return float((shown - shown[nearest]).double().abs().mean())
        return float((shown != shown[nearest]).double().mean())

    own = apart(torch.arange(len(keys)))
    generator = torch.Generator().manual_seed(0)
    others = [apart(torch.randperm(len(keys), generator=generator)) for _ in range(ORDERS)]
    return sum(one <= own for one in others) / ORDERS


def is_affine(runs: ChangedRuns, other: CapturedStep, inputs: int) -> bool:
    """Tell whether outputs lie half-way between two batches if the inputs do: then the model can learn no product."""
    step = runs.step
    first, second = step.slots[inputs].tensor, other.slots[inputs].tensor
    here, there = runs.before, runs.values({inputs: second})
    between = runs.values({inputs: (first + second) / 2})
    for number in step.outputs:
        middle = (here[number] + there[number]) / 2
        size = float(middle.abs().max()) if middle.numel() else 0.0
        if middle.numel() and float((between[number] - middle).abs().max()) > ROUNDING * size:
            return False
    return bool(step.outputs)
