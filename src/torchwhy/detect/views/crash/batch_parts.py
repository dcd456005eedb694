"""The tensors of a recorded batch, written `batch[0] float32[32, 10]`: their shapes as numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchwhy.diagnosis import Shape

PART = re.compile(r" \w+\[(?P<sizes>[\d, ]*)\]$")


def shape_of(part: str) -> Shape | None:
    """Return the shape of one tensor of a batch, None where it is no tensor."""
    found = PART.search(part)
    if found is None:
        return None
    return [int(size) for size in found["sizes"].split(",") if size.strip()]


def rows_of(parts: Sequence[str]) -> int | None:
    """Return how many samples a batch holds: the first size of its first tensor."""
    shape = shape_of(parts[0]) if parts else None
    return shape[0] if shape else None
