"""Parameters that join a model in the middle of training: a head that is exchanged, a block that is appended.

The optimizer was made before they were. Looked for at the steps that are looked at thoroughly anyway.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from torchwhy.observe.program.names import parameters_of
from torchwhy.observe.steps import gradients
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import version_of
from torchwhy.record.wiring import LateParameter, LateParameters

if TYPE_CHECKING:
    from torchwhy.observe.session import Session

FIRST_STEPS = (1, 4, 8, 16)  # looks while every step is thorough; later ones are rare by themselves
THOROUGH_STEPS = 24
MOST_TOLD = 50  # newcomers of one run


@dataclass
class _Late:
    reference: weakref.ref[torch.Tensor]
    since: int
    version: int
    print: list[str]


class LateParameterWatch:
    """Compares the parameters of known models with those they had when they were first seen."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._roots: dict[int, weakref.ref[torch.nn.Module]] = {}
        self._known: dict[int, tuple[weakref.ref[torch.Tensor], str]] = {}
        self._new: dict[int, _Late] = {}
        self._told: list[str] = []

    def after_step(self) -> None:
        """Look early a few times, and then whenever a step is looked at."""
        step = self._session.sentinel.step + 1
        if step in FIRST_STEPS or step > THOROUGH_STEPS:
            self.look(step)

    @unseen
    def look(self, step: int) -> None:
        """Write which newcomers get gradients now and are in no optimizer, if they are others than before."""
        held = {
            id(p)
            for watched in self._session.sentinel.optimizers.all()
            for p in watched.parameters()
        }
        living: set[int] = set()
        late: list[LateParameter] = []
        # The known ones first: a variable that holds a new layer only is a model of its own in the list of names.
        for model, root in sorted(self._session.names.roots(), key=self._is_strange):
            is_strange = self._is_strange((model, root))
            for name, parameter in parameters_of(root):
                if id(parameter) in living:
                    continue
                living.add(id(parameter))
                if is_strange or id(parameter) in held:
                    self._known[id(parameter)] = (weakref.ref(parameter), f"{model}.{name}")
                elif not self._has_known(parameter):
                    late += self._judged(parameter, model=model, name=name, step=step)
            self._roots[id(root)] = weakref.ref(root)
        if living:
            self._tell(late, held - living, step=step)

    def _is_strange(self, root: tuple[str, torch.nn.Module]) -> bool:
        known = self._roots.get(id(root[1]))
        return known is None or known() is not root[1]

    def _has_known(self, parameter: torch.Tensor) -> bool:
        known = self._known.get(id(parameter))
        return known is not None and known[0]() is parameter

    def _judged(
        self, parameter: torch.Tensor, *, model: str, name: str, step: int
    ) -> list[LateParameter]:
        """Return a newcomer that gets gradients and was not changed since it was first seen."""
        if not parameter.requires_grad or parameter.grad is None:
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
        # Nobody clears the gradient of what no optimizer holds: each backward pass adds to it in place.
        passes = max(step - new.since, version_of(parameter.grad))
        return [
            LateParameter(
                name=name, model=model, shape=list(parameter.shape), since=new.since, passes=passes
            )
        ]

    def _tell(self, late: list[LateParameter], orphans: set[int], *, step: int) -> None:
        """Write them, with those whose forerunner of the same name an optimizer holds and no model has any more."""
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
        self._session.write(
            LateParameters(
                step=step,
                parameters=late,
                replaced=[one for one in names if _has_forerunner(one, gone)],
            )
        )


def _has_forerunner(name: str, gone: set[str]) -> bool:
    """Tell whether a parameter of the same layer is gone: `head.weight` makes way for `head.0.weight`, too."""
    layer = name.rpartition(".")[0]
    return name in gone or any(
        f"{name}.".startswith(f"{before.rpartition('.')[0]}.")
        or f"{before}.".startswith(f"{layer}.")
        for before in gone
        if "." in layer and before.count(".") > 1
    )
