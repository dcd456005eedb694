"""Counts bad losses that the program read and dropped: a program that does so now and then does it on purpose."""

from __future__ import annotations

import torch

from torchwhy.observe.native.records import DroppedRecord
from torchwhy.observe.steps import gradients


class DroppedLosses(DroppedRecord):
    """Counts bad losses in a row without a backward pass, and the longest row after which training continued."""

    def __init__(self) -> None:
        self.in_a_row = 0
        self._survived = 0

    def read(self, before: torch.Tensor | None, now: torch.Tensor | None) -> None:
        """Judge the loss read before this one: without a backward pass in between, it was dropped or is the same."""
        if before is None or now is None or before.data_ptr() == now.data_ptr():
            return
        if not gradients.is_finite(before):
            self.in_a_row += 1

    def stepped(self) -> None:
        """Note a good step: the losses dropped before it did no harm."""
        self._survived, self.in_a_row = max(self._survived, self.in_a_row), 0

    @property
    def one_more_is_usual(self) -> bool:
        """Tell whether the program has dropped as many in a row before, this one included, and trained on."""
        return self.in_a_row + 1 <= self._survived
