"""Compares rows that a loader gives in several passes: the same index, read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from torchwhy.observe.probes.loaders.data_survey import digests_of, is_measurable
from torchwhy.observe.probes.loaders.seen_loader import SeenLoader
from torchwhy.plain_data import dataclass
from torchwhy.record.inputs.data_events import RowChanged

MOST_ROWS = 8  # of the first batch of a pass
MOST_PASSES = 3  # that are compared
MOST_ELEMENTS = 2**20  # of these rows
MOST_COLUMNS = 4096  # of one row, evenly spaced


@dataclass(frozen=True)
class _Reading:
    rows: list[int]
    digests: dict[str, torch.Tensor]


class RepeatedRows:
    """Keeps digests of a few rows of each loader; those of a loader that trains may differ by augmentation."""

    def __init__(self) -> None:
        self._first: dict[int, _Reading] = {}
        self._changed: dict[int, RowChanged] = {}

    def look(
        self,
        loader: SeenLoader,
        rows: Sequence[int],
        leaves: Sequence[tuple[str, torch.Tensor]],
        *,
        step: int,
    ) -> None:
        """Compare the first batch of a pass with that of the first pass, if it holds the same rows."""
        if loader.trains or loader.passes > MOST_PASSES or loader.number in self._changed:
            return
        reading = _Reading(list(rows[:MOST_ROWS]), dict(_digests(leaves, len(rows))))
        first = self._first.setdefault(loader.number, reading)
        if first is reading or first.rows != reading.rows or not reading.digests:
            return
        if first.digests.keys() != reading.digests.keys():
            return
        differing = {path: (first.digests[path] != now) for path, now in reading.digests.items()}
        changed = [path for path, where in differing.items() if bool(where.any())]
        if changed:
            kept = [
                path
                for path, now in reading.digests.items()
                if path not in changed and len(torch.unique(now)) > 1
            ]
            place = int(differing[changed[0]].nonzero()[0])
            self._changed[loader.number] = RowChanged(
                step=step,
                loader=loader.number,
                index=reading.rows[place],
                changed=changed,
                kept=kept,
            )

    def events(self, loaders: Sequence[SeenLoader]) -> Iterator[RowChanged]:
        """Yield the changes in loaders that never train."""
        for number, event in self._changed.items():
            if not loaders[number].trains:
                yield event


def _digests(
    leaves: Sequence[tuple[str, torch.Tensor]], size: int
) -> Iterator[tuple[str, torch.Tensor]]:
    for path, leaf in leaves:
        if is_measurable(leaf) and len(leaf) == size:
            rows = leaf.detach()[:MOST_ROWS]
            if rows.numel() <= MOST_ELEMENTS:
                yield path, digests_of(rows, columns=MOST_COLUMNS)
