"""Finds parameters that join a model during training, after its optimizer was made: a new head, an appended block."""

from __future__ import annotations

import weakref

import torch

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizers
from torchwhy.observe.program.names import Names, parameters_of
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import gradient_of, version_of
from torchwhy.plain_data import dataclass
from torchwhy.record.wiring import LateParameter, LateParameters

FIRST_STEPS = (1, 4, 8, 16)  # compared while every step is thorough; later all thorough ones
THOROUGH_STEPS = 24
MOST_TOLD = 50  # late parameters of one run


@dataclass
class _Late:
    reference: weakref.ref[torch.Tensor]
    since: int
    version: int
    print: list[str]


class LateParameterWatch:
    """Compares the parameters of known models with those that they had when they were first seen."""

    def __init__(
        self,
        recorder: Recorder,
        state: TrainingState,
        names: Names,
        optimizers: WatchedOptimizers,
    ) -> None:
        self._recorder = recorder
        self._state = state
        self._names = names
        self._optimizers = optimizers
        self._roots: dict[int, weakref.ref[torch.nn.Module]] = {}
        self._known: dict[int, tuple[weakref.ref[torch.Tensor], str]] = {}
        self._new: dict[int, _Late] = {}
        self._told: list[str] = []

    def after_step(self) -> None:
        """Compare at a few early steps, and then at every thorough one."""
        step = self._state.step + 1
        if step in FIRST_STEPS or step > THOROUGH_STEPS:
            self.look(step)

    @unseen
    def look(self, step: int) -> None:
        """Write which late parameters get gradients and are in no optimizer, if they are others than before."""
        held = {id(p) for watched in self._optimizers.all() for p in watched.parameters()}
        living: set[int] = set()
        late: list[LateParameter] = []
        # Known models first: a variable that holds just a new layer is a model of its own among the names.
        for model, root in sorted(self._names.roots(), key=self._is_new):
            is_new = self._is_new((model, root))
            for name, parameter in parameters_of(root):
                if id(parameter) in living:
                    continue
                living.add(id(parameter))
                if is_new or id(parameter) in held:
                    self._known[id(parameter)] = (weakref.ref(parameter), f"{model}.{name}")
                elif not self._has_known(parameter):
                    late += self._late(parameter, model=model, name=name, step=step)
            self._roots[id(root)] = weakref.ref(root)
        if living:
            self._tell(late, held - living, step=step)

    def _is_new(self, root: tuple[str, torch.nn.Module]) -> bool:
        known = self._roots.get(id(root[1]))
        return known is None or known() is not root[1]

    def _has_known(self, parameter: torch.Tensor) -> bool:
        known = self._known.get(id(parameter))
        return known is not None and known[0]() is parameter

    def _late(
        self, parameter: torch.Tensor, *, model: str, name: str, step: int
    ) -> list[LateParameter]:
        """Return a late parameter that gets gradients and has not changed since it was first seen."""
        gradient = gradient_of(parameter)
        if not parameter.requires_grad or gradient is None:
            return []
        new = self._new.get(id(parameter))
        if new is None or new.reference() is not parameter:
            if len(self._new) >= MOST_TOLD:
                return []
            new = self._new[id(parameter)] = _Late(
                weakref.ref(parameter),
                step,
                version_of(parameter),
                gradients.fingerprint([parameter]),
            )
        same = (
            version_of(parameter) == new.version and gradients.fingerprint([parameter]) == new.print
        )
        if not same:
            return []
        # Nothing clears the gradient of a parameter without optimizer: each backward pass adds to it in place.
        passes = max(step - new.since, version_of(gradient))
        return [
            LateParameter(
                name=name, model=model, shape=list(parameter.shape), since=new.since, passes=passes
            )
        ]

    def _tell(self, late: list[LateParameter], orphans: set[int], *, step: int) -> None:
        """Write them, and which of them replace a parameter that an optimizer still holds."""
        names = [f"{one.model}.{one.name}" for one in late]
        shown = [f"{name} {one.passes > 2}" for name, one in zip(names, late, strict=True)]
        if shown == self._told:
            return
        self._told = shown
        gone = {
            name
            for key, (reference, name) in self._known.items()
            if key in orphans and reference() is not None
        }
        self._recorder.write(
            LateParameters(
                step=step,
                parameters=late,
                replaced=[one for one in names if _has_forerunner(one, gone)],
            )
        )


def _has_forerunner(name: str, gone: set[str]) -> bool:
    """Tell whether a parameter of the same layer is gone; `head.0.weight` replaces `head.weight`, too."""
    layer = name.rpartition(".")[0]
    return name in gone or any(
        f"{name}.".startswith(f"{before.rpartition('.')[0]}.")
        or f"{before}.".startswith(f"{layer}.")
        for before in gone
        if "." in layer and before.count(".") > 1
    )
