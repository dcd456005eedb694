"""Remembers the tables of data in the program's variables, so that rows of batches are known by their content."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from torchwhy.observe.probes.loaders import data_survey as survey
from torchwhy.plain_data import dataclass
from torchwhy.replay.samples.reachable_arrays import reachable_values

FEWEST_ROWS = 20
MOST_ROWS = 2**16
MOST_ELEMENTS = 2**24
MOST_POOLS = 16
COLUMNS = 256  # of a row that its digest is made of
UNIQUE = 0.9  # of the rows have a digest of their own, or else a row cannot be recognised
LOOKS = (1, 24)  # the captured steps at which variables are looked at


@dataclass
class Pool:
    """A table of the program: what each row is recognised by, and whether rows were written since.

    `labels` are its values if it holds one whole number per row, `blank` whether a row is all one value.
    """

    name: str
    row_size: int
    digests: torch.Tensor
    blank: torch.Tensor
    labels: torch.Tensor | None = None
    is_written: bool = False

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(self.digests)

    @property
    def tells_rows_apart(self) -> bool:
        """Tell whether most rows differ from all others."""
        return len(self.digests.unique()) >= UNIQUE * self.rows

    def places_of(self, rows: torch.Tensor) -> torch.Tensor | None:
        """Return the places of the rows of a batch in the table; None if one of them is not in it."""
        if not len(rows) or rows.numel() // len(rows) != self.row_size:
            return None
        wanted = row_digests(rows)
        ordered, order = self.digests.sort()
        found = torch.searchsorted(ordered, wanted).clamp_max(self.rows - 1)
        return order[found] if torch.equal(ordered[found], wanted) else None


class RowPools:
    """Looks at the variables at a few captured steps; `chosen` are indices that list rows once each."""

    def __init__(self) -> None:
        self.pools: dict[str, Pool] = {}
        self.chosen: list[torch.Tensor] = []
        self._steps = 0

    def look(self) -> None:
        """Look at the variables of the live frames; called when a step is captured."""
        self._steps += 1
        if self._steps not in LOOKS:
            return
        self.chosen = []
        for name, value in reachable_values():
            table = _table(value)
            if table is None:
                continue
            if table.dim() == 1 and _lists_rows(table):
                self.chosen.append(table.long().clone())
            self._note(name, table)

    def _note(self, name: str, table: torch.Tensor) -> None:
        known = self.pools.get(name)
        if known is None and len(self.pools) >= MOST_POOLS:
            return
        digests = row_digests(table)
        if known is not None:
            known.is_written |= not torch.equal(known.digests, digests)
            return
        flat = table.reshape(len(table), -1)
        labels = table.reshape(-1).long().clone() if survey.may_be_labels(table) else None
        self.pools[name] = Pool(
            name, flat.shape[1], digests, (flat == flat[:, :1]).all(1), labels=labels
        )


def row_digests(rows: torch.Tensor) -> torch.Tensor:
    """Return a number per row that equal rows share, whether in single or double precision."""
    plain = rows.detach()
    if plain.dtype is torch.float64:
        plain = plain.float()
    return survey.digests_of(plain, columns=COLUMNS)


def _table(value: Any) -> torch.Tensor | None:
    """Return a variable as a tensor if it may be a table of data."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        if value.dtype.kind not in "fiub" or not value.ndim or any(s < 0 for s in value.strides):
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about arrays that cannot be written
            try:
                value = torch.from_numpy(value)
            except TypeError:  # of a kind that torch has not
                return None
    if not isinstance(value, torch.Tensor) or value.requires_grad:
        return None
    if not survey.is_measurable(value) or value.numel() > MOST_ELEMENTS:
        return None
    return value if FEWEST_ROWS <= len(value) <= MOST_ROWS else None


def _lists_rows(table: torch.Tensor) -> bool:
    """Tell whether a table holds whole numbers, each once: a choice of rows."""
    is_whole = table.dtype in (torch.int64, torch.int32)
    return is_whole and int(table.min()) >= 0 and len(table.unique()) == len(table)


def smallest_first(pools: RowPools) -> Iterator[Pool]:
    """Yield the tables whose rows can be told apart, the smallest first."""
    for pool in sorted(pools.pools.values(), key=lambda one: one.rows):
        if pool.tells_rows_apart:
            yield pool
