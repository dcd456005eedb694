"""What became of the odd parameters of a census: those that somebody should train, and those that nothing reaches."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from torchwhy.observe import gradients
from torchwhy.observe.torch_compat import unseen, version_of
from torchwhy.record.wiring import Followed, ParametersFollowed

if TYPE_CHECKING:
    from torchwhy.observe.session import Session

MOST_FOLLOWED = (
    200  # parameters of one run; a model that is wired wrongly shows it in its first ones
)


@dataclass
class _Marked:
    name: str
    reference: weakref.ref[torch.Tensor]
    version: int
    print: list[str]
    had_gradient: bool = False


class FollowedParameters:
    """Compares values at steps 4, 8, 16 … and at the end; costs nothing in a run whose census was all right."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._marked: dict[int, _Marked] = {}
        self._began = 0

    def follow(self, name: str, parameter: torch.Tensor) -> None:
        """Remember a parameter as it is now."""
        if len(self._marked) < MOST_FOLLOWED and id(parameter) not in self._marked:
            self._began = self._session.sentinel.step
            self._marked[id(parameter)] = _Marked(
                name,
                weakref.ref(parameter),
                version_of(parameter),
                gradients.fingerprint([parameter]),
            )

    def after_step(self) -> None:
        """Look at steps that are powers of two."""
        if self._marked:
            step = self._session.sentinel.step + 1
            if step >= 4 and step & (step - 1) == 0:
                self.tell(step)

    def at_exit(self) -> None:
        """Look a last time, should the parameters still live."""
        if self._marked:
            self.tell(self._session.sentinel.step)

    @unseen
    def tell(self, step: int) -> None:
        """Write what is known of those that still live."""
        held = {
            id(p)
            for watched in self._session.sentinel.optimizers.all()
            for p in watched.parameters()
        }
        found = []
        for marked in self._marked.values():
            parameter = marked.reference()
            if parameter is None:
                continue
            marked.had_gradient |= parameter.grad is not None
            changed = (
                version_of(parameter) != marked.version
                or gradients.fingerprint([parameter]) != marked.print
            )
            found.append(
                Followed(
                    name=marked.name,
                    changed=changed,
                    gradient=marked.had_gradient,
                    in_optimizer=id(parameter) in held,
                )
            )
        if found:
            self._session.write(
                ParametersFollowed(step=step, updates=step - self._began, parameters=found)
            )
