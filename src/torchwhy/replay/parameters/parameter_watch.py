"""Follows the odd parameters of a census: those with an unused gradient, those without one, and frozen ones."""

from __future__ import annotations

import weakref

import torch

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizers
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import (
    gradient_of,
    has_versions,
    local_part,
    version_of,
)
from torchwhy.plain_data import dataclass
from torchwhy.record.wiring import Followed, ParametersFollowed
from torchwhy.replay.parameters.late_parameters import LateParameterWatch

MOST_FOLLOWED = 200  # parameters of one census; a wrongly wired model shows it in its first ones
FIRST_LOOK = 4  # the first step to compare at; later at twice the step
# An update by hand writes at every step; `load_state_dict` at the end writes the same values once.
STEPS_PER_WRITE = 4
QUICKLY_READ = 1 << 16  # elements of a frozen parameter that is read at the start: 30 µs


@dataclass
class _Marked:
    name: str
    reference: weakref.ref[torch.Tensor]
    version: int
    print: list[str] | None
    observation: int = 0
    since: int = 0
    had_gradient: bool = False
    frozen: bool = False
    thawed_at: int | None = None
    changed: bool = False


class ParameterWatch:
    """Compares values at about steps 4, 8, 16 … of an observation and at the end; costs nothing without odd ones."""

    def __init__(
        self,
        recorder: Recorder,
        state: TrainingState,
        optimizers: WatchedOptimizers,
        late_parameters: LateParameterWatch,
    ) -> None:
        self._recorder = recorder
        self._state = state
        self._optimizers = optimizers
        self._late_parameters = late_parameters
        self._marked: dict[tuple[int, int], _Marked] = {}
        self._origin = 0  # the step at which the newest observation began
        self._next_look = FIRST_LOOK

    def follow(self, name: str, parameter: torch.Tensor, *, observation: int = 0) -> None:
        """Remember a parameter as it is now; the values of a frozen one matter only if it is unfrozen later."""
        if not local_part(parameter).numel():
            return  # the other ranks hold it
        key, step = (observation, id(parameter)), self._state.step
        followed = sum(number == observation for number, _ in self._marked)
        if followed < MOST_FOLLOWED and key not in self._marked:
            if observation:
                self._origin, self._next_look = step, step + FIRST_LOOK
            frozen = not parameter.requires_grad
            is_read = not frozen or parameter.numel() <= QUICKLY_READ
            self._marked[key] = _Marked(
                name,
                weakref.ref(parameter),
                version_of(parameter),
                gradients.fingerprint([parameter]) if is_read else None,
                observation=observation,
                since=step,
                frozen=frozen,
            )

    def after_step(self) -> None:
        """Compare at doubling steps; in a long run only some steps come here, so it may be a little later."""
        self._late_parameters.after_step()
        if self._marked:
            step = self._state.step + 1
            if step >= self._next_look:
                self._next_look = 2 * step - self._origin
                self.tell(step)

    def at_exit(self) -> None:
        """Compare a last time, if the parameters still live."""
        self._late_parameters.look(self._state.step)
        if self._marked:
            self.tell(self._state.step)

    @unseen
    def tell(self, step: int) -> None:
        """Write what became of those that still live."""
        held = {id(p) for watched in self._optimizers.all() for p in watched.parameters()}
        found: dict[int, list[Followed]] = {}
        began: dict[int, int] = {}
        for marked in self._marked.values():
            parameter = marked.reference()
            if parameter is None or (marked.frozen and not parameter.requires_grad):
                continue
            if marked.print is None:
                marked.print, marked.version = (
                    gradients.fingerprint([parameter]),
                    version_of(parameter),
                )
            marked.had_gradient |= gradient_of(parameter) is not None
            marked.changed |= _has_changed(marked, parameter, step)
            began[marked.observation] = max(began.get(marked.observation, 0), marked.since)
            found.setdefault(marked.observation, []).append(
                Followed(
                    name=marked.name,
                    changed=marked.changed,
                    gradient=marked.had_gradient,
                    in_optimizer=id(parameter) in held,
                    thawed_for=_thawed_for(marked, parameter, step),
                )
            )
        for observation, parameters in found.items():
            self._recorder.write(
                ParametersFollowed(
                    step=step,
                    updates=step - began[observation],
                    parameters=parameters,
                    look=observation,
                )
            )


def _has_changed(marked: _Marked, parameter: torch.Tensor, step: int) -> bool:
    """Tell whether a parameter has other values, or is written so often that something trains it."""
    writes = abs(version_of(parameter) - marked.version)
    if writes > (step - marked.since) // STEPS_PER_WRITE:
        return True
    return gradients.fingerprint([parameter]) != marked.print


def _thawed_for(marked: _Marked, parameter: torch.Tensor, step: int) -> int:
    """Return for how many steps a parameter that was frozen at the start is known to get gradients.

    Nothing clears the gradient of a parameter that no optimizer holds, so each backward pass adds to it in place.
    """
    gradient = gradient_of(parameter)
    if not marked.frozen or gradient is None:
        return 0
    if marked.thawed_at is None:
        marked.thawed_at = step
    written = version_of(gradient) if has_versions else 0
    return max(step - marked.thawed_at, written)
