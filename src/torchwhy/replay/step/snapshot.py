"""What a repeated step needs put back besides its batch: buffers as before the forward, and the random state."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch

from torchwhy.observe.steps.random_state import RandomState
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import has_values

if TYPE_CHECKING:
    from torchwhy.observe.session import Session

MOST_BYTES = 16 * 2**20  # buffers larger than this in all are not copied every step


class Snapshot:
    """Taken after every step, which is before the next forward. Buffers of a model that is gone are let go."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._buffers: list[weakref.ref[torch.Tensor]] | None = None
        self._copies: list[torch.Tensor] = []
        self._random = RandomState()
        self._random_state: torch.Tensor | None = None

    @property
    def is_needed(self) -> bool:
        """Tell whether there is anything to copy after each step."""
        return self._buffers is None or bool(self._buffers) or not self._session.batches.serial

    @property
    def only_random(self) -> RandomState | None:
        """Return the keeper of the random state if there is nothing else to copy."""
        return self._random if self._buffers == [] else None

    def take(self) -> None:
        """Copy the buffers; the random state too, unless a loader's batches keep their own."""
        if not self._session.batches.serial:
            self._random_state = self._random.take()
        if self._buffers is None or self._buffers:
            self._copy()

    @unseen
    @torch.no_grad()
    def _copy(self) -> None:
        if self._buffers is None:
            self._choose_buffers()
        for copy, buffer in self._pairs():
            copy.copy_(buffer)

    @unseen
    @torch.no_grad()
    def restore_buffers(self) -> None:
        """Put the buffers back as they were before the forward of the step in hand."""
        for copy, buffer in self._pairs():
            buffer.copy_(copy)

    def restore_random_state(self) -> None:
        """Put the random state back to where the step in hand began."""
        if self._random_state is not None:
            torch.set_rng_state(self._random_state)

    def _pairs(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for copy, reference in zip(self._copies, self._buffers or [], strict=True):
            buffer = reference()
            if buffer is not None and buffer.shape == copy.shape:
                yield copy, buffer.detach()

    def _choose_buffers(self) -> None:
        buffers = [
            b
            for b in self._session.names.buffers().values()
            if b.layout is torch.strided and has_values(b)
        ]
        small = sum(b.numel() * b.element_size() for b in buffers) <= MOST_BYTES
        chosen = buffers if small else []
        self._buffers = [weakref.ref(buffer) for buffer in chosen]
        self._copies = [torch.empty_like(buffer) for buffer in chosen]
