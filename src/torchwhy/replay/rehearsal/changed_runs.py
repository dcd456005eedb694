"""Runs a captured step with other data and keeps every value; random draws and batch statistics stay the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from torchwhy.observe.torch_features.tensor_parts import precise
from torchwhy.replay.rehearsal.capture.captured_program import (
    CapturedOperation,
    CapturedStep,
    Ref,
    Tensors,
    exchanged,
    flat,
    put_back,
)
from torchwhy.replay.rehearsal.step_collection import CapturedSteps, StepGroup

BATCH_NORMS = {"native_batch_norm", "_native_batch_norm_legit"}
IS_TRAINING, MOMENTUM, EPSILON = 5, 6, 7  # places among the arguments of a batch norm
Values = dict[int, torch.Tensor]


class ChangedRuns:
    """A captured step as it was, and with some of its data changed.

    A batch norm in training mode makes each output depend on all others. That is its purpose, so a changed run
    normalises with the statistics of the step as it was.
    """

    def __init__(self, steps: CapturedSteps, group: StepGroup) -> None:
        self.step: CapturedStep = group.steps[0]
        self._weights = steps.initial_weights(group)
        self._allowance = steps.allowance
        self._statistics: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.before = self._run({}, as_it_was=True)

    def values(
        self,
        slots: Mapping[int, torch.Tensor],
        *,
        masked: Tensors | None = None,
        instead: Tensors | None = None,
    ) -> Values:
        """Return all values of a run with other tensors in some slots.

        `masked` holds for the places of some operations where their first operand becomes −inf, `instead` what takes
        the place of some values.
        """
        return self._run(slots, as_it_was=False, masked=masked, instead=instead)

    def _run(
        self,
        replaced: Tensors,
        *,
        as_it_was: bool,
        masked: Tensors | None = None,
        instead: Tensors | None = None,
    ) -> Values:
        self._allowance.spend(len(self.step.operations))
        values: Values = {}
        data = {n: replaced.get(n, slot.tensor) for n, slot in enumerate(self.step.slots)}
        sources = {"value": values, "parameter": self._weights, "slot": data}

        def fill(one: Any) -> Any:
            return sources[one.kind][one.number] if isinstance(one, Ref) else one

        with torch.no_grad():
            for place, operation in enumerate(self.step.operations):
                args, kwargs = exchanged((operation.args, operation.kwargs), fill)
                if not as_it_was and place in self._statistics:
                    args = self._with_statistics(place, args)
                if masked and place in masked:
                    args = (args[0].masked_fill(masked[place], -torch.inf), *args[1:])
                with put_back(operation.random_state):
                    result = flat(operation.function(*args, **kwargs))
                if as_it_was and base_of(operation) in BATCH_NORMS and args[IS_TRAINING] is True:
                    self._statistics[place] = (result[1], result[2])
                made = zip(operation.results, result, strict=True)
                values.update((number, one) for number, one in made if number is not None)
                for number in operation.results:
                    if number is not None and instead and number in instead:
                        values[number] = instead[number]
        return values

    def _with_statistics(self, place: int, args: tuple[Any, ...]) -> tuple[Any, ...]:
        mean, inverse = self._statistics[place]
        variance = inverse.pow(-2) - args[EPSILON]
        return (*args[:3], mean, variance, False, *args[MOMENTUM:])


def base_of(operation: CapturedOperation) -> str:
    """Return `bmm` for `aten.bmm.default`."""
    return str(getattr(operation.function, "__name__", "")).partition(".")[0]


def moved(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """Return by how much each element moved, relative to the largest one."""
    first, second = precise(before), precise(after)
    difference = (first - second).abs().nan_to_num(0.0, posinf=0.0, neginf=0.0)
    finite = first[first.isfinite()].abs()
    size = float(finite.max()) if finite.numel() else 0.0
    return difference / size if size else difference
