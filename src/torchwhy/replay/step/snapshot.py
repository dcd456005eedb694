"""Copies what a repeated step needs besides its batches: buffers as before the forward, and the random state."""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import torch

from torchwhy.observe.devices.generator_states import GeneratorStates
from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.observe.program.names import Names
from torchwhy.observe.step_handler import CopiedAfterStep
from torchwhy.observe.steps.random_state import RandomState
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import copy_all, has_values

MOST_BYTES = 16 * 2**20  # of all buffers; more are not copied at every step


class Snapshot:
    """Taken after every step, so before the next forward; does not keep a model's buffers alive.

    `copies_all`: also large buffers, because the program goes on with those that are restored.
    """

    def __init__(self, names: Names, batches: BatchKeeper, *, copies_all: bool = False) -> None:
        self.copies_all = copies_all
        self._names = names
        self._batches = batches
        self._buffers: list[weakref.ref[torch.Tensor]] | None = None
        self._copies: list[torch.Tensor] = []
        self._shapes: list[torch.Size] = []
        self._are_plain = True  # no buffer is stored negated or conjugated
        self._random = RandomState()

    @property
    def is_needed(self) -> bool:
        """Tell whether there is anything to copy after each step."""
        return self._buffers is None or bool(self._buffers) or not self._batches.serial

    @property
    def parts(self) -> CopiedAfterStep:
        """Return what there is to copy, as far as it is chosen and plain memory holds its values."""
        random = None if self._batches.serial else self._random
        if self._buffers == []:
            return CopiedAfterStep(random)
        if self._buffers is None or not self._are_plain:
            return CopiedAfterStep()
        return CopiedAfterStep(random, self._copies, self._buffers)

    @property
    def random_state(self) -> GeneratorStates | None:
        """Return the random state with which the current step began; None if the batches have their own."""
        return self._random.last

    @property
    def has_all_buffers(self) -> bool:
        """Tell whether every buffer can be restored: large ones are not copied at every step."""
        return len(self._buffers or []) >= len(self._names.buffers())

    def begin_anew(self) -> None:
        """Choose the buffers anew: the program has made an optimizer, perhaps for another model."""
        self._copies.clear()  # The cruise may hold the list, and must not take its copies for ours.
        self._buffers, self._copies = None, []

    def take(self) -> None:
        """Copy the buffers; also the random state, unless the batches of a loader have their own."""
        if not self._batches.serial:
            self._random.take()
        if self._buffers is None or self._buffers:
            self._copy()

    @unseen
    @torch.no_grad()
    def _copy(self) -> None:
        if self._buffers is None:
            self._choose_buffers()
        buffers = [reference() for reference in self._buffers or []]
        if buffers and [getattr(buffer, "shape", None) for buffer in buffers] == self._shapes:
            copy_all(self._copies, buffers)  # type: ignore[arg-type]  # each has a shape
            return
        for copy, buffer in self._pairs():
            copy.copy_(buffer)

    @unseen
    @torch.no_grad()
    def restore_buffers(self) -> None:
        """Restore the buffers as they were before the forward of the current step."""
        for copy, buffer in self._pairs():
            buffer.copy_(copy)

    def restore_random_state(self) -> None:
        """Restore the random state with which the current step began."""
        if self.random_state is not None:
            self.random_state.put_back()

    def _pairs(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for copy, reference in zip(self._copies, self._buffers or [], strict=True):
            buffer = reference()
            if buffer is not None and buffer.shape == copy.shape:
                yield copy, buffer.detach()

    def _choose_buffers(self) -> None:
        buffers = [
            b for b in self._names.buffers().values() if b.layout is torch.strided and has_values(b)
        ]
        size = sum(b.numel() * b.element_size() for b in buffers)
        small = self.copies_all or size <= MOST_BYTES
        chosen = buffers if small else []
        self._buffers = [weakref.ref(buffer) for buffer in chosen]
        self._copies = [torch.empty_like(buffer) for buffer in chosen]
        self._shapes = [copy.shape for copy in self._copies]
        self._are_plain = not any(buffer.is_neg() or buffer.is_conj() for buffer in chosen)
