"""Are targets related to inputs at all? Tests for relations of any kind, whatever the model can learn from few rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb

import torch

from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep
from torchwhy.replay.rehearsal.changed_runs import ChangedRuns
from torchwhy.replay.rehearsal.data_exchange import rows_of

ORDERS = 200  # of the targets, among which theirs is ranked
MOST_ROWS = 1024
MOST_PRODUCTS = 2000  # of columns, by which a relation is looked for
MOST_COLUMNS = 1024
MOST_TARGETS = 32
MANY_ORDERS, FEW_PAIRS = (
    1000,
    4096,
)  # of the targets, if there are few pairs of a column and a target
AT_ONCE = 20
ROUNDING = 1e-4  # of the outputs


def chance_of_neighbours(steps: Sequence[CapturedStep], inputs: int, target: int) -> float:
    """Return how often targets in random order differ as little between nearest neighbours as theirs do."""
    given = torch.cat([rows_of(step.slots[inputs].tensor) for step in steps])[:MOST_ROWS]
    rows = _standard(given.reshape(len(given), -1).double())
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


def chances_of_columns(
    steps: Sequence[CapturedStep], inputs: int, target: int
) -> tuple[float, float]:
    """Return how often targets in random order follow columns of the inputs as closely as theirs do.

    First for columns, their squares, and products of the signs of two, of which the kind counts that theirs follow
    best; then for products of three and four.
    """
    given = torch.cat([rows_of(step.slots[inputs].tensor) for step in steps])[:MOST_ROWS]
    pool = torch.cat([rows_of(step.slots[target].tensor) for step in steps])[:MOST_ROWS]
    rows = _standard(given.reshape(len(given), -1)[:, :MOST_COLUMNS].double())
    keys = _standard(_in_numbers(pool.reshape(len(pool), -1)))
    simple = min(
        _chance(one, keys) for one in (rows, _standard(rows.square()), *_products(rows, [2]))
    )
    return simple, min((_chance(one, keys) for one in _products(rows, [3, 4])), default=1.0)


def _chance(columns: torch.Tensor, keys: torch.Tensor) -> float:
    generator = torch.Generator().manual_seed(0)
    orders = MANY_ORDERS if columns.shape[1] * keys.shape[1] <= FEW_PAIRS else ORDERS
    own, as_close = float((columns.T @ keys).abs().max()), 0
    for _ in range(0, orders, AT_ONCE):
        drawn = [torch.randperm(len(keys), generator=generator) for _ in range(AT_ONCE)]
        others = columns.T @ torch.cat([keys[order] for order in drawn], 1)
        highest = others.abs().amax(0).reshape(AT_ONCE, -1).amax(1)
        as_close += int((highest >= own).sum())
    return as_close / orders


def _products(rows: torch.Tensor, orders: Sequence[int]) -> Iterator[torch.Tensor]:
    """Yield the products of the signs of so many columns, if these are not too many."""
    signs, count = rows.sign(), rows.shape[1]
    for order in orders:
        if order <= count and comb(count, order) <= MOST_PRODUCTS:
            chosen = torch.tensor(list(combinations(range(count), order)))
            yield _standard(signs[:, chosen].prod(2))


def _in_numbers(keys: torch.Tensor) -> torch.Tensor:
    """Return classes as columns of 0 and 1, numbers as they are."""
    if keys.is_floating_point() or keys.shape[1] > 1:
        return keys[:, :MOST_TARGETS].double()
    classes: torch.Tensor = keys[:, 0].unique()[:MOST_TARGETS]
    return (keys == classes[None, :]).double()


def _standard(columns: torch.Tensor) -> torch.Tensor:
    centred = columns - columns.mean(0)
    scaled: torch.Tensor = centred / centred.std(0).clamp_min(1e-12)
    return scaled


def is_affine(runs: ChangedRuns, other: CapturedStep, inputs: int) -> bool:
    """Tell whether outputs lie half-way between two batches if the inputs do: then the model can learn no product."""
    step = runs.step
    first, second = step.slots[inputs].tensor, other.slots[inputs].tensor
    if torch.equal(first, second):
        second = first.roll(1, 0)  # one full batch in every step
    here, there = runs.before, runs.values({inputs: second})
    between = runs.values({inputs: (first + second) / 2})
    for number in step.outputs:
        middle = (here[number] + there[number]) / 2
        size = float(middle.abs().max()) if middle.numel() else 0.0
        if middle.numel() and float((between[number] - middle).abs().max()) > ROUNDING * size:
            return False
    return bool(step.outputs)
