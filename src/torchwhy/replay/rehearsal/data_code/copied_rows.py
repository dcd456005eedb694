"""Reads all rows of a small dataset: does one occur several times?"""

from __future__ import annotations

from typing import Any

import torch

from torchwhy.observe.probes.loaders.row_copies import repeated_among
from torchwhy.observe.probes.loaders.seen_loader import SeenLoader
from torchwhy.record.inputs.data_events import RowsRepeated
from torchwhy.replay.rehearsal.data_code.reread_rows import reread
from torchwhy.replay.rehearsal.data_code.row_reading import leaves_in, random_states_kept

MOST_ROWS = 1024
MOST_ELEMENTS = 2**22  # of all rows


def repeated_in(loader: SeenLoader, dataset: Any) -> RowsRepeated | None:
    """Return which rows are copies of others; None if there are none, or if rows are random or of several shapes.

    A subset that names a row several times holds copies on purpose: None, too.
    """
    count = loader.rows or 0
    if loader.has_rows_twice():
        return None
    if not 1 < count <= MOST_ROWS or reread(loader, dataset, step=0)[1] is not None:
        return None
    with random_states_kept():
        first = dict(leaves_in(dataset[0]))
        if sum(one.numel() for one in first.values()) * count > MOST_ELEMENTS:
            return None
        rows = [first, *(dict(leaves_in(dataset[row])) for row in range(1, count))]
    kinds = {path: (one.shape, one.dtype) for path, one in first.items()}
    if any({path: (one.shape, one.dtype) for path, one in row.items()} != kinds for row in rows):
        return None
    return repeated_among(
        loader.number, [(path, torch.stack([row[path] for row in rows])) for path in first]
    )
