"""A dispatch mode that can pause, which leaves torch's stack for a while, and sleep, which an operation may begin."""

from __future__ import annotations

import threading
from typing import Any

import torch

from torchwhy.observe.torch_features.autograd_nodes import next_node_number
from torchwhy.observe.torch_features.mode_stack import (
    DispatchMode,
    active_modes,
    put_on,
    running_modes,
    take_off,
)
from torchwhy.replay.observing.next_line import NextLine


class PausableMode(DispatchMode):
    """Knows whether it looks (`is_on`), and whether it is on torch's stack of modes meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.is_on = False
        self.is_paused = False
        self.is_asleep = False  # looks at nothing until `wake`
        self.last_node_number = 0
        self._is_entered = False
        self._below: list[Any] = []  # modes of the program that were active when a pause began
        self._thread = 0
        self._in_inference = False  # whether it was put on under `torch.inference_mode`
        self._waits_to_leave = False

    @property
    def is_busy(self) -> bool:
        """Tell whether it looks, or is still on torch's stack of modes."""
        return self.is_on or self._is_entered

    def _put_on(self) -> None:
        self.last_node_number = next_node_number()
        here = threading.get_ident()  # a mode is on for one thread: the one that trains
        if not self._is_entered or self._thread != here:
            self._is_entered, self._thread = True, here
            self._in_inference = torch.is_inference_mode_enabled()
            put_on(self)

    @property
    def _may_leave(self) -> bool:
        """Tell whether torch will not restore, at the end of an inference mode, that a dispatch mode is on.

        After that, torch would look for a mode that is gone, and the program's next operation would fail.
        """
        return torch.is_inference_mode_enabled() == self._in_inference

    def leave(self) -> None:
        """Stop looking."""
        raise NotImplementedError

    def tidy(self) -> None:
        """Take the mode off torch's stack if it is not needed there."""
        if self._is_entered and not self.is_on and self._may_leave:
            self._is_entered = not take_off(self)

    def leave_late(self) -> None:
        """Leave torch's stack at the next line if an inference mode kept us there; called inside of an operation."""
        if self._may_leave and not self._waits_to_leave:
            self._waits_to_leave = True
            NextLine(self._leave_at_last).wait()

    def _leave_at_last(self) -> bool:
        if self.is_asleep:
            left = self._leave_asleep()
        else:
            self.tidy()
            left = self.is_on or not self._is_entered
        self._waits_to_leave = not left
        return left

    def pause(self) -> None:
        """Leave torch's stack of modes for a while, in which torch does work that explains nothing."""
        if not (self.is_on and self._is_entered and self._thread == threading.get_ident()):
            return
        if not self._may_leave:
            return
        modes = active_modes()
        # A mode of the program above us has to find us below when it ends.
        if modes and modes[-1] is self:
            self._is_entered = not take_off(self)
            self.is_paused = not self._is_entered
            self._below = modes[:-1]

    def resume(self) -> None:
        """Look again after a pause, unless asleep."""
        if not self.is_paused or self.is_asleep:
            return
        self.is_paused = False
        if self.is_on and not self._is_entered:
            if active_modes() == self._below:
                self._put_on()
            else:  # the program has entered or left a mode meanwhile, because of an exception
                self.leave()

    def sleep(self) -> None:
        """Look at nothing until `wake`, and leave torch's stack; called inside of an operation."""
        if self.is_on and not self.is_asleep:
            self.is_asleep = True
            if running_modes() == 1:  # a mode of the program above us has to find us below
                NextLine(self._leave_asleep).wait()

    def _leave_asleep(self) -> bool:
        """Leave torch's stack; return False from inside of an operation, where torch has us off for a while."""
        if self.is_asleep and self._is_entered:
            self.pause()
        return self.is_paused or not self.is_asleep

    def wake(self) -> None:
        """Look again."""
        if self.is_asleep:
            self.is_asleep = False
            self.last_node_number = next_node_number()
            self.resume()
