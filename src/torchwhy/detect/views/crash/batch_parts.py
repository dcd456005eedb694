"""The shapes of a recorded batch, whose tensors are stored as text: `batch[0] float32[32, 10]`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchwhy.diagnosis import Shape

PART = re.compile(r"(?:^| )\w+\[(?P<sizes>[\d, ]*)\]$")


def shape_of(part: str) -> Shape | None:
    """Return the shape of one part of a batch; None if it is no tensor."""
    found = PART.search(part)
    if found is None:
        return None
    return [int(size) for size in found["sizes"].split(",") if size.strip()]


def rows_of(parts: Sequence[str]) -> int | None:
    """Return the batch size: the first size of the first tensor."""
    shape = shape_of(parts[0]) if parts else None
    return shape[0] if shape else None
