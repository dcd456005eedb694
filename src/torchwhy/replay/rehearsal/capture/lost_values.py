"""Notes conversions to whole numbers that leave one value of many: all that a tensor held is lost there."""

from __future__ import annotations

from typing import Any

import torch

from torchwhy.observe.program.frames import Site
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.replay.microscope.call_sites import call_site

CONVERSION = "_to_copy"
FEWEST = 16  # elements
MOST_PLACES = 8


class LostValues:
    """Looks at each conversion of real numbers to whole ones.

    `places` maps the value that is left, with the number of elements in a row, to the last line that made it.
    """

    def __init__(self) -> None:
        self.places: dict[tuple[float, int], Site] = {}

    def operation(self, base: str, args: Any, result: Any) -> None:
        """Look at one operation after it ran."""
        if base != CONVERSION or len(self.places) >= MOST_PLACES:
            return
        given = args[0]
        if not given.is_floating_point() or result.is_floating_point() or result.is_complex():
            return
        if result.dtype is torch.bool or result.numel() < FEWEST or result.is_meta:
            return
        value = float(result.reshape(-1)[0])
        if bool((result == value).all()) and float(given.min()) != float(given.max()):
            sites = call_site(frame_at(3)).sites
            if sites:
                self.places[value, row_size(result)] = sites[0]


def row_size(tensor: torch.Tensor) -> int:
    """Return the number of elements of a sample."""
    return tensor.numel() // max(1, len(tensor)) if tensor.dim() else 1
