"""Reads the same rows twice with different random numbers: do they have the same values?"""

from __future__ import annotations

from typing import Any

from torchwhy.observe.probes.loaders.seen_loader import SeenLoader
from torchwhy.record.inputs.data_events import RowChanged
from torchwhy.replay.rehearsal.data_code.random_lines import RandomLine
from torchwhy.replay.rehearsal.data_code.row_reading import (
    SEED,
    digests_in,
    random_states_kept,
    seed_all,
)

MOST_ROWS = 6


def reread(loader: SeenLoader, dataset: Any, *, step: int) -> tuple[int, RowChanged | None]:
    """Return how many rows were read twice, and the first that had other values."""
    rows = [int(row) for row in loader.drawn[0][:MOST_ROWS]]
    with random_states_kept():
        first = {row: _read(dataset, row, SEED) for row in rows}
        again = {row: _read(dataset, row, SEED + 1 + row) for row in rows}
        changed = [(row, _differing(first[row], again[row])) for row in rows]
        found = next(((row, paths) for row, paths in changed if paths), None)
        if found is None:
            return len(rows), None
        row, paths = found
        stayed = [path for path in first[row] if not any(path in p for _, p in changed)]
        kept = [path for path in stayed if len({one.get(path) for one in first.values()}) > 1]
        place = RandomLine().during(lambda: dataset[row])
    return len(rows), RowChanged(
        step=step, loader=loader.number, index=row, changed=paths, kept=kept, location=place
    )


def _read(dataset: Any, row: int, seed: int) -> dict[str, str]:
    seed_all(seed)
    return dict(digests_in(dataset[row]))


def _differing(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return [path for path, digest in one.items() if other.get(path) != digest]
