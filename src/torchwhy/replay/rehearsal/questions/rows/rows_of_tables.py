"""Which rows does a loop without a loader draw? The rows of captured batches, found in the tables of the program."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from torchwhy.observe.probes.loaders import data_survey as survey
from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep
from torchwhy.replay.rehearsal.data_code.row_pools import Pool, RowPools, smallest_first
from torchwhy.replay.rehearsal.step_collection import CapturedSteps

SLUG = "rows-of-tables"
FEWEST_STEPS = 8


def ask(steps: CapturedSteps) -> Answer:
    """Return how many rows of a table the captured batches hold, in which order, and how their labels are ordered."""
    group = steps.main
    alike = group.alike()
    if len(alike) < FEWEST_STEPS:
        raise CannotAsk(f"fewer than {FEWEST_STEPS} captured steps have the same shapes")
    found = _drawn_from(alike, steps.pools)
    if found is None:
        raise CannotAsk(
            "no table in the program's variables holds the rows of the captured batches"
        )
    pool, slot, places = found
    every = torch.cat(places)
    drawn = every.unique()
    half = torch.cat(places[: len(places) // 2]).unique()
    rest = torch.ones(pool.rows, dtype=torch.bool)
    rest[drawn] = False
    facts: dict[str, object] = {
        "table": pool.name,
        "rows": pool.rows,
        "batch": len(places[0]),
        "steps": len(places),
        "draws": len(every),
        "distinct": len(drawn),
        "distinct in first half": len(half),
        "same rows": all(torch.equal(one, places[0]) for one in places),
        "written": pool.is_written,
        "rest is blank": bool(pool.blank[rest].all()),
        "chosen": any(_is_choice(one, drawn, pool.rows) for one in steps.pools.chosen),
        "in order": _in_order(alike, places),
        **_labels(alike, steps.pools, pool, places),
    }
    first = alike[0]
    return Answer(facts, {"input": first.slots[slot].span, "loss": first.place})


def _drawn_from(
    steps: Sequence[CapturedStep], pools: RowPools
) -> tuple[Pool, int, list[torch.Tensor]] | None:
    """Return the smallest table that holds the rows of all batches and more, the slot, and the places of its rows."""
    first = steps[0]
    slots = [
        n
        for n, slot in enumerate(first.slots)
        if slot.role in ("input", "constant") and slot.tensor.dim() and len(slot.tensor)
    ]
    for pool in smallest_first(pools):
        for slot in slots:
            if len(first.slots[slot].tensor) >= pool.rows:
                continue
            places = [pool.places_of(step.slots[slot].tensor) for step in steps]
            known = [one for one in places if one is not None]
            if len(known) == len(steps):
                return pool, slot, known
    return None


def _is_choice(listed: torch.Tensor, drawn: torch.Tensor, rows: int) -> bool:
    """Tell whether an index of the program lists the drawn rows, and not all rows: a part that was chosen."""
    return len(listed) < rows and bool(torch.isin(drawn, listed).all())


def _in_order(steps: Sequence[CapturedStep], places: Sequence[torch.Tensor]) -> bool:
    """Tell whether consecutive batches are consecutive parts of the table, apart from new beginnings at its start."""
    for k, place in enumerate(places):
        if not torch.equal(place, torch.arange(len(place)) + place[0]):
            return False
        follows = k and steps[k].number == steps[k - 1].number + 1
        if follows and int(place[0]) not in (0, int(places[k - 1][-1]) + 1):
            return False
    return len({int(place[0]) for place in places}) > 1


def _labels(
    steps: Sequence[CapturedStep], pools: RowPools, pool: Pool, places: Sequence[torch.Tensor]
) -> dict[str, object]:
    """Return how the labels are ordered that the batches were compared with, if a table holds them."""
    for one in pools.pools.values():
        if one.labels is None or one.rows != pool.rows:
            continue
        for number, slot in enumerate(steps[0].slots):
            given = slot.tensor
            if slot.role != "target" or given.is_floating_point() or given.dim() != 1:
                continue
            fit = (
                torch.equal(step.slots[number].tensor, one.labels[place])
                for step, place in zip(steps, places, strict=True)
            )
            if not all(fit):
                continue
            batches, mixed = survey.mixed_batches(one.labels, len(given))
            order = survey.order_of(one.name, one.labels, batches=batches, mixed=mixed)
            if order is not None:
                expected = _expected_runs(one.labels)
                return {
                    "labels": one.name,
                    "classes": order.classes,
                    "runs": order.runs,
                    "expected runs": expected,
                    "batches": batches,
                    "mixed": mixed,
                }
    return {}


def _expected_runs(labels: torch.Tensor) -> float:
    """Return the mean number of runs of these labels in random order."""
    _, counts = labels.unique(return_counts=True)
    alike = float(((counts / len(labels)) ** 2).sum())
    return 1 + (len(labels) - 1) * (1 - alike)
