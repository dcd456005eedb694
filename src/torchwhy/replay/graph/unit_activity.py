"""Measures the units of a network at an observed step: dead ones, saturated ones, and the spread of the output."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.frames import calling_span
from torchwhy.observe.program.names import Names
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.tensor_parts import has_values
from torchwhy.record.events import LeftOut
from torchwhy.record.learning import Activation, ModelOutput
from torchwhy.record.numbers import encode
from torchwhy.replay.crash.frames.construction import Builder
from torchwhy.replay.microscope import measures, tensor_facts
from torchwhy.replay.microscope.expressions import span_in_module
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.observing.current_observation import CurrentObservation

RECTIFIERS = {
    "relu",
    "relu_",
    "threshold",
    "threshold_",
    "clamp_min",
    "clamp_min_",
    "hardtanh",
    "clamp",
}
SQUASHERS = {"sigmoid", "sigmoid_", "tanh", "tanh_", "hardtanh", "hardsigmoid"}
OTHERS = {"gelu", "silu", "elu", "leaky_relu", "selu", "softplus", "mish", "hardswish"}
ACTIVATIONS = RECTIFIERS | SQUASHERS | OTHERS
FLAT = 1e-4  # so close to its limit, the slope of a sigmoid is below 1e-4
ODD = 0.5  # share of saturated elements from which a finding may need the layer's constructor
MOST_TOLD = 256  # activations recorded per observed step
IMAGE_DIMENSIONS = 4


class ActivityWriter:
    """Measures activations as the microscope sees them, and the output of the outermost model."""

    def __init__(
        self,
        recorder: Recorder,
        state: TrainingState,
        names: Names,
        observation: CurrentObservation,
    ) -> None:
        self._recorder = recorder
        self._state = state
        self._names = names
        self._observation = observation
        self._step = -1
        self._count = 0
        self._constructors: dict[str, SourceSpan | None] = {}

    def begin_anew(self) -> None:
        """Forget the layers by path: another observation begins, perhaps with another model."""
        self._step = -1
        self._constructors.clear()

    def saw(self, operation: Operation, output: torch.Tensor) -> None:
        """Measure one activation; called for forward operations only."""
        if (
            operation.info.base not in ACTIVATIONS
            or output.dim() < 2
            or not output.is_floating_point()
        ):
            return
        if output.is_meta:
            return
        if not self._has_room(operation.step):
            return
        values = output.detach()
        unit_dim = 1 if values.dim() >= IMAGE_DIMENSIONS else values.dim() - 1
        count = int(values.shape[unit_dim])
        low, high = _flat_ends(operation.info.base)
        units = measures.units(values, unit_dim, low=low, high=high)
        site = operation.place()
        odd = (
            (operation.step > 0 and not self._observation.number)
            or units.dead == count
            or units.outside > ODD
        )
        self._recorder.write_later(
            Activation(
                step=operation.step,
                op=operation.info.base.rstrip("_"),
                order=operation.order,
                location=span_in_module(site, operation.module) if site else None,
                module=operation.module,
                shape=list(values.shape),
                units=count,
                dead=units.dead,
                saturated=units.outside,
                zeros=units.zeros,
                rms=encode(measures.root_mean_square(values)),
                # Read the source only if a finding may need it: not in the first step of a healthy run.
                made_at=self.made_at(operation.module) if odd else None,
                look=self._observation.number,
            )
        )

    def _has_room(self, step: int) -> bool:
        """Count an activation of a step; the first one beyond the limit is recorded as such."""
        if step != self._step:
            self._step, self._count = step, 0
        self._count += 1
        if self._count == MOST_TOLD + 1:
            number = self._observation.number
            left = LeftOut(step=step, what="activations", kept=MOST_TOLD, look=number)
            self._recorder.write_later(left)
        return self._count <= MOST_TOLD

    def made_at(self, path: str | None) -> SourceSpan | None:
        """Return the constructor of a layer inside `nn.Sequential`, which the program does not call itself."""
        if path is None:
            return None
        if path not in self._constructors:
            layer = _layer_in_sequence(self._names, path)
            made = Builder(self._names, []).made_at(layer) if layer else None
            self._constructors[path] = made.span if made is not None else None
        return self._constructors[path]

    def model_gave(self, path: str, model: Any, inputs: Any, output: Any) -> None:
        """Measure how much the rows of a model's output differ, and those of its input."""
        given = _first_float(inputs)
        indices = inputs[0] if given is None and isinstance(inputs, tuple) and inputs else None
        varied = given if given is not None else indices if _is_dense(indices) else None
        gave = _first_float(output)
        if gave is None or gave.dim() == 0 or gave.is_meta:
            return
        self._recorder.write_later(
            ModelOutput(
                step=self._state.step,
                path=path,
                facts=tensor_facts.facts_of(gave),
                spread=encode(measures.spread(gave)),
                rows=int(gave.shape[0]),
                training=bool(model.training),
                grad=torch.is_grad_enabled(),
                input_spread=encode(measures.spread(varied))
                if varied is not None and varied.dim()
                else 0.0,
                location=calling_span(),
                given=tensor_facts.facts_of(given) if given is not None else None,
                given_rms=encode(measures.root_mean_square(given)) if given is not None else 0.0,
                given_computed=given is not None and given.grad_fn is not None,
                rms=encode(measures.root_mean_square(gave)),
                look=self._observation.number,
            )
        )


def _layer_in_sequence(names: Names, path: str) -> nn.Module | None:
    """Return the layer at this path, if it is an activation of torch that a `Sequential` calls."""
    for name, root in names.roots():
        if not path.startswith(f"{name}."):
            continue
        above, _, last = path.removeprefix(f"{name}.").rpartition(".")
        try:
            holder = root.get_submodule(above)
            layer = holder.get_submodule(last)
        except AttributeError:
            continue
        if type(holder) is nn.Sequential and type(layer).__module__ == nn.ReLU.__module__:
            return layer
    return None


def _flat_ends(base: str) -> tuple[float, float]:
    """Return the values below and above which an activation passes almost no gradient."""
    if base.startswith("sigmoid"):
        return FLAT, 1 - FLAT
    if base.startswith("tanh"):
        return FLAT - 1, 1 - FLAT
    return -math.inf, math.inf


def _first_float(values: Any) -> torch.Tensor | None:
    if isinstance(values, torch.Tensor):
        is_measured = values.is_floating_point() and _is_dense(values) and has_values(values)
        return values if is_measured and values.numel() else None
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, (list, tuple)):
        for value in values:
            found = _first_float(value)
            if found is not None:
                return found
    return None


def _is_dense(value: Any) -> bool:
    """Tell whether something is a tensor whose rows lie in memory: those of a sparse one are not all stored."""
    return isinstance(value, torch.Tensor) and value.layout is torch.strided
