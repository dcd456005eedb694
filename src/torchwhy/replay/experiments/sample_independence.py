"""Does each output depend on its own sample alone? Tried on the live model once, after the first steps.

Only if the first step gives reason to: a layer that recurs or attends over its first dimension, a reshape that may mix
samples, a softmax over the samples, or a constant with one row for each sample.
"""

from __future__ import annotations

import time
import weakref
from dataclasses import field
from itertools import islice
from typing import Any

import torch
from torch import nn
from torch.utils.data import default_collate

from torchwhy.finding import SourceSpan
from torchwhy.observe.probes.batches import BatchKeeper, aliases_of, leaves_of
from torchwhy.observe.probes.forwards.modes import ModeCounter
from torchwhy.observe.program.frames import span_of
from torchwhy.observe.program.names import Names
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.loader_parts import collate_of
from torchwhy.observe.torch_features.tensor_parts import precise, storage_key
from torchwhy.observe.torch_features.torch_internals import world_size
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import SAMPLES_QUESTION, Experiment
from torchwhy.replay.crash.frames.construction import Builder
from torchwhy.replay.experiments.exchanged_samples import (
    TOLERANCE,
    exchanged,
    is_alone,
    largest_difference,
)
from torchwhy.replay.experiments.mixing_operations import may_mix_samples
from torchwhy.replay.experiments.quiet_forward import unnoticed, why_not
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.microscope.module_stack import ModuleStack
from torchwhy.replay.observing.switch import MicroscopeSwitch

MOST_CALLS = 4  # outermost calls of the first step that are kept until it is over
MOST_SEEN = 64  # outermost calls before the first step; a program that only infers makes more
MOST_BYTES = 64 * 2**20  # of one call's inputs
MANY_MODULES = 200  # from here on a model is not tried right after its first step
MOST_LOOKED_AT = 64  # samples searched for one that differs from the first
LAYERS = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)


@dataclass(eq=False)
class Call:
    """One call of an outermost model, kept until the first step is over; its inputs are aliases of the program's."""

    path: str
    model: weakref.ref[nn.Module]
    inputs: tuple[Any, ...]
    shape: list[int]
    axes: tuple[int, int, bool] | None = None

    @property
    def given(self) -> torch.Tensor | None:
        """Return the first tensor among the inputs of the model."""
        return next(
            (value for value in self.inputs if isinstance(value, torch.Tensor) and value.dim()),
            None,
        )


@dataclass
class Layer:
    """A layer whose first dimension is time, and the shapes of its inputs."""

    module: nn.Module
    kind: str
    path: str
    shapes: list[list[int]] = field(default_factory=list)
    made: SourceSpan | None = None


class SampleIndependence:
    """Keeps the calls of the first step, and tries one of them if there is reason to."""

    def __init__(
        self,
        microscope: Microscope,
        modules: ModuleStack,
        switch: MicroscopeSwitch,
        *,
        names: Names,
        batches: BatchKeeper,
        modes: ModeCounter,
        recorder: Recorder,
        state: TrainingState,
    ) -> None:
        self._microscope = microscope
        self._modules = modules
        self._switch = switch
        self._names = names
        self._batches = batches
        self._modes = modes
        self._recorder = recorder
        self._state = state
        self._calls: list[Call] = []
        self._wanted: tuple[Call, Layer | None] | None = None
        self._is_over = False
        self._has_looked = False  # at the operations of the first step
        self._has_waited = False
        self._seen = 0

    def keep(self, path: str, model: nn.Module, inputs: Any, output: Any) -> None:
        """Keep a call of an outermost model that trains."""
        gave = _first_tensor(output)
        self._seen += 1
        if self._seen > MOST_SEEN:  # no step comes: release what we keep alive
            self._is_over = True
            self._calls.clear()
        if self._is_over or len(self._calls) >= MOST_CALLS or gave is None:
            return
        known = any(call.model() is model for call in self._calls)
        fits = isinstance(inputs, tuple) and _bytes(inputs) <= MOST_BYTES and gave.dim() > 0
        trains = torch.is_grad_enabled() and next(model.parameters(), None) is not None
        if fits and trains and not known:
            kept = aliases_of(inputs)
            self._calls.append(Call(path, weakref.ref(model), kept, list(gave.shape)))

    def choose(self) -> None:
        """Choose the call to try, if there is reason to, while the operations of the first step are known."""
        if self._is_over or self._wanted is not None:
            return
        self._has_looked = True
        for call in self._calls:
            model = call.model()
            layer = self._time_first(model) if model is not None else None
            if model is not None and (layer is not None or self._may_mix(call)):
                if call.given is not None:  # now, because the batch is released with the step
                    call.axes = self._axes(call.given, call.shape)
                self._wanted = (call, layer)
                return

    def ask(self) -> None:
        """Try the chosen call, once: after the first step, or the second one of a model of many modules.

        There the first step takes several usual ones already.
        """
        if self._is_over or self._microscope.is_on or self._may_wait():
            return
        self._is_over = True
        wanted, self._wanted = self._wanted, None
        kept = len(self._calls)
        self._calls.clear()
        if self._switch.compiles or not self._has_looked:
            return
        model = wanted[0].model() if wanted is not None else None
        if wanted is None or model is None or world_size() > 1:
            self._write_without_trying(wanted, kept)
            return
        call, layer = wanted
        began = time.perf_counter()
        reason = why_not(model)
        if reason is None:
            with self._modules.paused(), self._modes.paused():
                answer = _try(call, model, layer)
        else:
            answer = {"refused": reason}
        spent = time.perf_counter() - began
        self._write(call, layer, answer, spent)

    def _may_wait(self) -> bool:
        """Tell, once, whether the chosen model is large."""
        model = self._wanted[0].model() if self._wanted is not None else None
        has_waited, self._has_waited = self._has_waited, True
        if has_waited or model is None:
            return False
        return sum(1 for _ in islice(model.modules(), MANY_MODULES)) == MANY_MODULES

    def _write_without_trying(self, wanted: tuple[Call, Layer | None] | None, kept: int) -> None:
        """Write that no operation can mix samples, or why nothing was tried."""
        answer: dict[str, Any] = {"may mix": False}
        if wanted is not None:
            answer = {
                "refused": "several processes train together"
                if world_size() > 1
                else "the model is gone"
            }
        elif not kept:
            answer = {"refused": "no call of a model with parameters was kept"}
        self._recorder.write(
            Experiment(step=self._state.step, question=SAMPLES_QUESTION, answer=answer)
        )

    def _write(self, call: Call, layer: Layer | None, answer: dict[str, Any], spent: float) -> None:
        places = {"made": layer.made} if layer is not None and layer.made is not None else {}
        if layer is not None:
            answer |= {"layer": layer.path, "layer kind": layer.kind}
        if layer is not None and layer.shapes:
            answer["layer input"] = [float(size) for size in layer.shapes[0]]
        self._recorder.write(
            Experiment(
                step=self._state.step,
                question=SAMPLES_QUESTION,
                answer={"path": call.path, **answer},
                seconds=round(spent, 4),
                places=places,
            )
        )

    def _time_first(self, model: nn.Module) -> Layer | None:
        """Return the first layer of a model that ran and has time as first dimension."""
        parents = {id(child): parent for parent in model.modules() for child in parent.children()}
        for module in model.modules():
            if (
                not isinstance(module, (nn.RNNBase, nn.MultiheadAttention))
                or module.batch_first
                or not self._modules.has_run(module)
            ):
                continue
            owner = parents.get(id(module))
            shown = owner if isinstance(owner, LAYERS) else module
            kind = type(shown).__name__
            path = self._modules.path_of(shown)
            return Layer(module, kind, path, made=self._made_at(shown, kind))
        return None

    def _made_at(self, module: nn.Module, kind: str) -> SourceSpan | None:
        """Return where a layer was made: where its weights were written, or where the source constructs it."""
        for parameter in module.parameters():
            entry = self._microscope.memory_writers.entry(parameter)
            site = (
                entry.last_operation.place() if entry is not None and entry.last_operation else None
            )
            span = span_of(site) if site else None
            if span is not None and f"{kind}(" in (span.expression or ""):
                return span
        builder = Builder(self._names, [])
        found = builder.made_at(module)
        if found is not None and f"{kind}(" in (found.span.expression or ""):
            return found.span
        return builder.only_call_of(kind)

    def _may_mix(self, call: Call) -> bool:
        return may_mix_samples(self._microscope.forward_operations(), call.shape[0])

    def _axes(self, given: torch.Tensor, shape: list[int]) -> tuple[int, int, bool] | None:
        """Return the dimension of samples in input and output, and whether a loader's batch proves it."""
        certain = self._axis_by_loader(given)
        if certain is not None:
            rows = given.shape[certain]
            out = next((place for place, size in enumerate(shape[:2]) if size == rows), None)
            if out is None or rows < 2 or shape[:2] == [rows, rows]:
                return None
            return certain, out, True
        if len(shape) > 2 or shape[0] < 2 or shape == [shape[0], shape[0]]:
            return None
        fitting = [place for place, size in enumerate(given.shape[:2]) if size == shape[0]]
        return (fitting[0], 0, False) if len(fitting) == 1 else None

    def _axis_by_loader(self, given: torch.Tensor) -> int | None:
        """Return the dimension along which a loader stacked the samples, if the input is its batch or a view of it."""
        key = storage_key(given)
        for batch in self._batches.recent:
            collate = collate_of(batch.iterator())
            if collate is not None and collate is not default_collate:
                continue
            for _, leaf in leaves_of(batch.data):
                if not leaf.dim() or storage_key(leaf) != key:
                    continue
                rows = leaf.shape[0]
                for place, size in enumerate(given.shape):
                    if size == rows and given.stride(place) == leaf.stride(0):
                        return place
        return None


def _try(call: Call, model: nn.Module, layer: Layer | None) -> dict[str, Any]:
    given = next(
        (value for value in call.inputs if isinstance(value, torch.Tensor) and value.dim()), None
    )
    if given is None or not _are_plain(call.inputs):
        return {"refused": "its inputs are not plain tensors"}
    if call.axes is None:
        return {"refused": "which dimension holds the samples is not certain"}
    axis, out_axis, _ = call.axes
    others = _others(given, axis)
    if not others:
        return {"refused": "no two samples differ"}
    handle = (
        layer.module.register_forward_pre_hook(_note_shape(layer), with_kwargs=True)
        if layer is not None
        else None
    )
    try:
        with unnoticed(model) as same_chance:
            same_chance()
            before = _first_tensor(model(*call.inputs))
            for sample, other in others.items():
                changed = given.detach().clone()
                changed.select(axis, sample).copy_(given.detach().select(axis, other))
                inputs = [changed if value is given else value for value in call.inputs]
                same_chance()
                after = _first_tensor(model(*inputs))
                answer = _compare(before, after, out_axis, sample)
                # A change that moves nothing, not even the sample's own output, answers nothing.
                if answer.get("moved") or answer.get("own moved"):
                    break
            if answer.get("moved") == 0 and is_alone(call.inputs):
                turned = [
                    exchanged(v, axis, sample, other) if v is given else v for v in call.inputs
                ]
                same_chance()
                after = exchanged(_first_tensor(model(*turned)), out_axis, sample, other)
                answer["placed"] = largest_difference(before, after)
    except Exception as refusal:
        return {"refused": f"{type(refusal).__name__}: {refusal}"[:200]}
    finally:
        if handle is not None:
            handle.remove()
    return answer | {"batch axis": axis, "certain axis": call.axes[2]}


def _compare(before: Any, after: Any, out_axis: int, sample: int) -> dict[str, Any]:
    if before is None or after is None or before.shape != after.shape:
        return {"refused": "the outputs have different shapes"}
    rows = (precise(before) - precise(after)).abs().transpose(0, out_axis)
    difference = rows.reshape(rows.shape[0], -1).amax(dim=1)
    size = float(precise(before).abs().max().item())
    if not bool(torch.isfinite(difference).all().item()):
        return {"refused": "the outputs are not finite"}
    moved = difference > TOLERANCE * size
    others = torch.cat([difference[:sample], difference[sample + 1 :]])
    return {
        "rows": int(moved.numel()),
        "sample": sample,
        "moved": int((others > TOLERANCE * size).sum().item()),
        "own moved": bool(moved[sample].item()),
        "by": float(others.max().item()) / size if size and others.numel() else 0.0,
    }


def _others(given: torch.Tensor, axis: int) -> dict[int, int]:
    """Return the samples to change, one after another, and for each the sample that takes its place."""
    rows = given.shape[axis]
    first = given.select(axis, 0)
    near = range(1, min(rows, MOST_LOOKED_AT))
    different = [one for one in near if not torch.equal(given.select(axis, one), first)]
    found = {0: different[0]} if different else {}
    for sample in {rows // 2: None, rows - 1: None} if found else ():
        here = given.select(axis, sample)
        found[sample] = max(
            (0, *near), key=lambda one: int((given.select(axis, one) != here).sum().item())
        )
    return found


def _note_shape(layer: Layer) -> Any:
    def note(_: nn.Module, inputs: Any, keywords: dict[str, Any]) -> None:
        given = _first_tensor([*inputs, *keywords.values()])
        if given is not None:
            layer.shapes.append(list(given.shape))

    return note


def _bytes(inputs: tuple[Any, ...]) -> int:
    return sum(leaf.numel() * leaf.element_size() for _, leaf in leaves_of(inputs))


def _are_plain(values: Any) -> bool:
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, (list, tuple)):
        return all(map(_are_plain, values))
    if isinstance(values, torch.Tensor):
        return values.layout is torch.strided
    return values is None or isinstance(values, (int, float, str, bool))


def _first_tensor(values: Any) -> torch.Tensor | None:
    """Return the first floating-point tensor in a result; of a packed sequence, its data."""
    if isinstance(values, torch.Tensor):
        return values.detach() if values.is_floating_point() and values.numel() else None
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, (list, tuple)):
        return next(
            (found for value in values if (found := _first_tensor(value)) is not None), None
        )
    return None
