"""Does each output depend on its own sample alone? Asked of the live model once, right after the first step.

Only if something in the first step gives reason to ask: a layer that recurs or attends over its first dimension, a
reshape that may swap samples with something else, a softmax over the first dimension.
"""

from __future__ import annotations

import time
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.utils.data import default_collate

from torchwhy.finding import SourceSpan
from torchwhy.observe.probes.batches import leaves_of
from torchwhy.observe.program.frames import span_of
from torchwhy.observe.torch_features.loader_parts import collate_of
from torchwhy.observe.torch_features.tensor_parts import storage_key
from torchwhy.observe.torch_features.torch_internals import world_size
from torchwhy.record.learning import SAMPLES_QUESTION, Experiment
from torchwhy.replay.crash.frames.construction import Builder
from torchwhy.replay.experiments.quiet_forward import unnoticed, why_not
from torchwhy.replay.microscope.operations import Operation

if TYPE_CHECKING:
    from torchwhy.replay.equipment import Stage

MOST_SECONDS = 0.5  # a forward that takes longer is not repeated
MOST_CALLS = 4  # outermost calls of the first step that are kept until it is over
MOST_SEEN = 64  # outermost calls before the first step; a program that only infers makes more
MOST_BYTES = 64 * 2**20  # of one call's inputs
TOLERANCE = 1e-5  # of the largest output: rounding moves an output by 1e-7 of it, a neighbour by 1e-3 and more
MOST_LOOKED_AT = 64  # samples looked at for one that differs from the first
RESHAPES = {"view", "_unsafe_view", "reshape", "_reshape_alias"}
WRITTEN = ("view", "reshape", "unflatten")  # in the program's own words
SOFTMAXES = {"_softmax", "_log_softmax"}
LAYERS = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)


@dataclass(eq=False)
class Call:
    """One call of an outermost model, kept until the first step is over."""

    path: str
    model: weakref.ref[nn.Module]
    inputs: tuple[Any, ...]
    shape: list[int]
    axes: tuple[int, int, bool] | None = None

    @property
    def given(self) -> torch.Tensor | None:
        """Return the first tensor that the model was given."""
        return next(
            (value for value in self.inputs if isinstance(value, torch.Tensor) and value.dim()),
            None,
        )


@dataclass
class Layer:
    """A layer that takes its first dimension for time, and what it was given."""

    module: nn.Module
    kind: str
    path: str
    shapes: list[list[int]] = field(default_factory=list)
    made: SourceSpan | None = None


class Samples:
    """Keeps the calls of the first step, and tries one of them when there is reason to."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._calls: list[Call] = []
        self._wanted: tuple[Call, Layer | None] | None = None
        self._is_over = False
        self._seen = 0

    def install(self) -> None:
        """Be told of every outermost call, after whoever is told already."""
        tell = self._stage.modules.on_model
        keep = self._stage.session.guests.protect("samples experiment", self._keep)

        def both(path: str, model: nn.Module, inputs: Any, output: Any) -> None:
            tell(path, model, inputs, output)
            keep(path, model, inputs, output)

        self._stage.modules.on_model = both

    def _keep(self, path: str, model: nn.Module, inputs: Any, output: Any) -> None:
        gave = _first_tensor(output)
        self._seen += 1
        if (
            self._seen > MOST_SEEN
        ):  # no step comes: nothing of the program may live longer because of us
            self._is_over = True
            self._calls.clear()
        if self._is_over or len(self._calls) >= MOST_CALLS or gave is None:
            return
        known = any(call.model() is model for call in self._calls)
        fits = isinstance(inputs, tuple) and _bytes(inputs) <= MOST_BYTES and gave.dim() > 0
        trains = torch.is_grad_enabled() and next(model.parameters(), None) is not None
        if fits and trains and not known:
            self._calls.append(Call(path, weakref.ref(model), inputs, list(gave.shape)))

    def choose(self) -> None:
        """Decide, while the operations of the first step are known, whether there is reason to ask, and whom."""
        if self._is_over or self._wanted is not None:
            return
        for call in self._calls:
            model = call.model()
            layer = self._time_first(model) if model is not None else None
            if model is not None and (layer is not None or self._looks_odd(call)):
                if (
                    call.given is not None
                ):  # asked now: the batch is forgotten when the step is over
                    call.axes = _axes(self._stage, call.given, call.shape)
                self._wanted = (call, layer)
                return

    def ask(self) -> None:
        """Try it, once, after the first step."""
        if self._is_over or self._stage.microscope.is_on:
            return
        self._is_over = True
        wanted, self._wanted = self._wanted, None
        self._calls.clear()
        if wanted is None or self._stage.compiles or world_size() > 1:
            return
        call, layer = wanted
        model = call.model()
        if model is None:
            return
        began = time.perf_counter()
        reason = why_not(model)
        if reason is None:
            with self._stage.modules.paused(), self._uncounted():
                answer = _try(call, model, layer)
        else:
            answer = {"refused": reason}
        spent = time.perf_counter() - began
        self._write(call, layer, answer, spent)

    def _write(self, call: Call, layer: Layer | None, answer: dict[str, Any], spent: float) -> None:
        places = {"made": layer.made} if layer is not None and layer.made is not None else {}
        if layer is not None:
            answer |= {"layer": layer.path, "layer kind": layer.kind}
        if layer is not None and layer.shapes:
            answer["layer input"] = [float(size) for size in layer.shapes[0]]
        self._stage.session.write(
            Experiment(
                step=self._stage.session.sentinel.step,
                question=SAMPLES_QUESTION,
                answer={"path": call.path, **answer},
                seconds=round(spent, 4),
                places=places,
            )
        )

    def _uncounted(self) -> Any:
        return self._stage.session.modes.paused()

    def _time_first(self, model: nn.Module) -> Layer | None:
        """Return the first layer of a model that ran and takes time first."""
        ran = self._stage.modules.has_run
        parents = {id(child): parent for parent in model.modules() for child in parent.children()}
        for module in model.modules():
            if (
                not isinstance(module, (nn.RNNBase, nn.MultiheadAttention))
                or module.batch_first
                or not ran(module)
            ):
                continue
            owner = parents.get(id(module))
            shown = owner if isinstance(owner, LAYERS) else module
            kind = type(shown).__name__
            return Layer(
                module, kind, self._stage.modules.path_of(shown), made=self._made_at(shown, kind)
            )
        return None

    def _made_at(self, module: nn.Module, kind: str) -> SourceSpan | None:
        """Return where a layer was made: where its weights were written, or where the source says so."""
        for parameter in module.parameters():
            entry = self._stage.microscope.memory_writers.entry(parameter)
            site = (
                entry.last_operation.place() if entry is not None and entry.last_operation else None
            )
            span = span_of(site) if site else None
            if span is not None and f"{kind}(" in (span.expression or ""):
                return span
        found = Builder(self._stage.session.names, []).made_at(module)
        if found is not None and f"{kind}(" in (found.span.expression or ""):
            return found.span
        return self._only_mention(kind)

    def _only_mention(self, kind: str) -> SourceSpan | None:
        return Builder(self._stage.session.names, []).only_call_of(kind)

    def _looks_odd(self, call: Call) -> bool:
        rows = call.shape[0]
        folded: set[int] = set()
        for operation in self._stage.microscope.forward_operations():
            if _may_mix(operation, rows) or _unfolds_otherwise(operation, rows, folded):
                return True
        return False


def _unfolds_otherwise(operation: Operation, rows: int, folded: set[int]) -> bool:
    """Tell whether (samples, steps, …), folded into one dimension, is unfolded as (steps, samples, …) again."""
    if operation.info.base not in RESHAPES or operation.node is not None:
        return False
    before, after = operation.input_shapes[0] if operation.input_shapes else [], operation.shape
    if len(before) > 2 and before[0] == rows != before[1] and after[:1] == [rows * before[1]]:
        folded.add(before[1])
    if len(after) < 3 or after[1] != rows or after[0] not in folded:
        return False
    site = operation.place()  # layers of torch's own fold and unfold as they should
    return site is not None and any(word in (span_of(site).expression or "") for word in WRITTEN)


def _may_mix(operation: Operation, rows: int) -> bool:
    """Tell whether an operation may put samples together: a reshape that swaps the first sizes, a softmax over them."""
    if operation.node is not None or not operation.input_shapes or rows < 2:
        return False
    before, after = operation.input_shapes[0], operation.shape
    base = operation.info.base
    if base in RESHAPES and len(before) > 1 and len(after) > 1:
        comes = before[0] != rows and before[1] == rows and after[0] == rows
        goes = before[0] == rows and after[0] != rows and after[1] == rows
        return comes or goes
    if base in SOFTMAXES and len(after) > 1 and after[0] == rows:
        axis = next((value for name, value in operation.scalars if name == "1"), None)
        return isinstance(axis, int) and axis in (0, -len(after))
    return False


def _try(call: Call, model: nn.Module, layer: Layer | None) -> dict[str, Any]:
    given = next(
        (value for value in call.inputs if isinstance(value, torch.Tensor) and value.dim()), None
    )
    if given is None or not _are_plain(call.inputs):
        return {"refused": "its inputs are not plain tensors"}
    if call.axes is None:
        return {"refused": "which dimension holds the samples is not certain"}
    axis, out_axis, certain = call.axes
    other = _another(given, axis)
    if other is None:
        return {"refused": "no two samples differ"}
    changed = given.detach().clone()
    changed.select(axis, 0).copy_(given.detach().select(axis, other))
    inputs = tuple(changed if value is given else value for value in call.inputs)
    handle = (
        layer.module.register_forward_pre_hook(_note_shape(layer), with_kwargs=True)
        if layer is not None
        else None
    )
    try:
        with unnoticed(model) as same_chance:
            began = time.perf_counter()
            same_chance()
            before = _first_tensor(model(*call.inputs))
            if time.perf_counter() - began > MOST_SECONDS:
                return {"refused": "a forward takes long"}
            same_chance()
            after = _first_tensor(model(*inputs))
    except Exception as refusal:
        return {"refused": f"{type(refusal).__name__}: {refusal}"[:200]}
    finally:
        if handle is not None:
            handle.remove()
    return _compare(before, after, axis, out_axis, certain=certain)


def _compare(before: Any, after: Any, axis: int, out_axis: int, *, certain: bool) -> dict[str, Any]:
    if before is None or after is None or before.shape != after.shape:
        return {"refused": "the outputs have different shapes"}
    rows = (before.double() - after.double()).abs().transpose(0, out_axis)
    difference = rows.reshape(rows.shape[0], -1).amax(dim=1)
    size = float(before.double().abs().max().item())
    if not bool(torch.isfinite(difference).all().item()):
        return {"refused": "the outputs are not finite"}
    moved = difference > TOLERANCE * size
    return {
        "batch axis": axis,
        "certain axis": certain,
        "rows": int(moved.numel()),
        "moved": int(moved[1:].sum().item()),
        "own moved": bool(moved[0].item()),
        "by": float(difference[1:].max().item()) / size if size and moved.numel() > 1 else 0.0,
    }


def _axes(stage: Stage, given: torch.Tensor, shape: list[int]) -> tuple[int, int, bool] | None:
    """Return the dimension of samples in the input and in the output, and whether a loader vouches for it."""
    certain = _axis_by_loader(stage, given)
    if certain is not None:
        rows = given.shape[certain]
        out = next((place for place, size in enumerate(shape[:2]) if size == rows), None)
        return (
            None if out is None or rows < 2 or shape[:2] == [rows, rows] else (certain, out, True)
        )
    if len(shape) > 2 or shape[0] < 2 or shape == [shape[0], shape[0]]:
        return None
    fitting = [place for place, size in enumerate(given.shape[:2]) if size == shape[0]]
    return (fitting[0], 0, False) if len(fitting) == 1 else None


def _axis_by_loader(stage: Stage, given: torch.Tensor) -> int | None:
    """Return the dimension along which a loader put the samples together, if the input is its batch or a view of it."""
    key = storage_key(given)
    for batch in stage.session.batches.recent:
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


def _another(given: torch.Tensor, axis: int) -> int | None:
    first = given.select(axis, 0)
    for position in range(1, min(given.shape[axis], MOST_LOOKED_AT)):
        if not torch.equal(given.select(axis, position), first):
            return position
    return None


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
    return values is None or isinstance(values, (torch.Tensor, int, float, str, bool))


def _first_tensor(values: Any) -> torch.Tensor | None:
    """Return the first floating-point tensor in a result; of packed sequences, their data."""
    if isinstance(values, torch.Tensor):
        return values.detach() if values.is_floating_point() and values.numel() else None
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, (list, tuple)):
        return next(
            (found for value in values if (found := _first_tensor(value)) is not None), None
        )
    return None
