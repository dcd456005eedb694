"""How far training is: the numbers that every probe asks for, some of which the accelerator keeps in plain memory."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import torch

from torchwhy.observe.native.records import StateRecord
from torchwhy.observe.steps.dropped_losses import DroppedLosses
from torchwhy.record.numbers import Real

if TYPE_CHECKING:
    from torchwhy.observe.steps.check import Check


class TrainingState(StateRecord):
    """Counts steps and backward passes, and holds the losses since the last step."""

    def __init__(self) -> None:
        self.step = 0  # optimizer steps so far; without an optimizer, backward passes
        self.backwards = 0
        # Number of the next autograd node when the last backward pass but one, and the last one, began.
        self.next_node_before = 0
        self.next_node = 0
        self.losses: list[Any] = []  # since the last step: tensors, or numbers already read
        self.last_read: torch.Tensor | None = None  # the last loss the program read itself
        self.dropped = DroppedLosses()
        self.bad_evaluations = False  # the program has read a bad number outside of training
        self.bad_scaled_losses = 0  # in a row, under a GradScaler
        self.last_scaled_losses: list[Real] = []
        self.in_update = False  # an optimizer is writing
        self.open_check: Check | None = None  # of the step being made
        self.in_compiled_code = False  # or between two parts of it
        self.frozen = False  # a step is being repeated: nothing of it is recorded
        self.in_experiment = False  # we differentiate the program's loss ourselves
        self.told_shapes: Any = None  # shapes of the batch that the last event with shapes had
        self.began = time.perf_counter()  # when the last step ended
        self._home: int | None = None  # the thread that trains

    def is_elsewhere(self, *, steps: bool = False) -> bool:
        """Tell whether this is not the thread that trains: the one of the first step, as long as it lives.

        Torch writes gradients of other threads without Python's lock, so we must not look at them from here.
        """
        here = threading.get_ident()
        if self._home is None:
            self._home = here if steps else None
        elif self._home != here:
            if any(thread.ident == self._home for thread in threading.enumerate()):
                return True
            self._home = here
        return False
