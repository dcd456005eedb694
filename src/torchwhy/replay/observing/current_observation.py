"""Which observation the microscope is on for: shared by everything that writes events about it."""

from __future__ import annotations

from torchwhy.plain_data import dataclass


@dataclass
class CurrentObservation:
    """0 is the first observation, and that of any single later step; n is that of the n-th late optimizer."""

    number: int = 0
