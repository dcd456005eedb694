"""The autopsy: from the live frames of an exception to one `Crash`.

Runs when the program ends or catches an exception, never at a healthy step. Runs no code of the user's, except, in a
program that is ending anyway, the model's own forward, to see the shapes in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from torchwhy.finding import SourceSpan
from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.observe.program.frames import span_of
from torchwhy.observe.program.names import Names
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.mode_stack import modes_off
from torchwhy.record.crashes import FrameSeen, WalkStep
from torchwhy.record.events import Crash, Layer, NamedTensor, OperandTrial
from torchwhy.replay.crash.autopsy.argument_facts import argument_facts
from torchwhy.replay.crash.autopsy.best_effort import BestEffort
from torchwhy.replay.crash.autopsy.case import Case, fill
from torchwhy.replay.crash.autopsy.consumers import consumer_facts
from torchwhy.replay.crash.autopsy.descriptions import named, numbers_among, tensors_among
from torchwhy.replay.crash.autopsy.loader import loader_facts
from torchwhy.replay.crash.autopsy.producers import dataset_source, producer_of
from torchwhy.replay.crash.autopsy.running_layers import describe
from torchwhy.replay.crash.autopsy.shape_walk import stations
from torchwhy.replay.crash.autopsy.value_ranges import range_facts
from torchwhy.replay.crash.frames.failed_call import module_call
from torchwhy.replay.crash.frames.failed_operands import FoundOperand
from torchwhy.replay.crash.frames.raisers import who_raised
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.trials.batch_of_one import add_batch_to_model
from torchwhy.replay.crash.trials.layer_sizes import resize_layer, resize_table
from torchwhy.replay.crash.trials.operand_fits import fit_operands
from torchwhy.replay.crash.trials.reexecute import (
    Reexecution,
    model_call,
    nothing_left_behind,
)
from torchwhy.replay.crash.trials.target_changes import (
    cast_target,
    change_target,
    shift_target,
)
from torchwhy.replay.crash.trials.tensor_changes import (
    cast_tensors,
    change_layer_input,
    layer_call,
    move_tensors,
    operand_of,
    transpose_operands,
    unsqueeze_operands,
)
from torchwhy.replay.crash.trials.view_to_reshape import reshape_for_view
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.microscope.expressions import span_in_module
from torchwhy.replay.microscope.module_stack import ModuleStack
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.nonfinite.program_context import LiveContext

LONGEST_MESSAGE = 4000
ATTEMPTS = (
    resize_layer,
    resize_table,
    change_layer_input,
    add_batch_to_model,
    cast_tensors,
    move_tensors,
    transpose_operands,
    unsqueeze_operands,
    fit_operands,
    change_target,
    cast_target,
    shift_target,
    reshape_for_view,
)
MOST_FRAMES = 12  # of the user's frames: the innermost ones


class Autopsy:
    """Collects everything about an exception that a person would look at."""

    def __init__(
        self,
        microscope: Microscope,
        modules: ModuleStack,
        *,
        names: Names,
        batches: BatchKeeper,
        context: LiveContext,
        reexecution: Reexecution,
        state: TrainingState,
    ) -> None:
        self._microscope = microscope
        self._modules = modules
        self._names = names
        self._batches = batches
        self._context = context
        self._reexecution = reexecution
        self._state = state

    def examine(
        self, error: BaseException, frames: list[TracebackFrame], *, caught: bool = False
    ) -> Crash:
        """Return the `Crash` of an exception."""
        with modes_off(), torch.no_grad(), self._modules.paused():
            if not caught:
                error, frames = BestEffort().get(
                    (error, frames), self._reexecution.eager_error, error, frames
                )
            case = Case(
                names=self._names,
                batches=self._batches,
                microscope=self._microscope,
                context=self._context,
                error=error,
                frames=frames,
                caught=caught,
            )
            return _crash(fill(case, self._reexecution), self._state.step)


def _walk(case: Case) -> list[WalkStep]:
    """Return the shapes of the data on its way through the model, the model's own input first."""
    if not case.operations:
        return []
    call = model_call(case.frames)
    first = [
        WalkStep(
            what="input", shape=list(value.shape), dtype=str(value.dtype).removeprefix("torch.")
        )
        for value in (call.variables["args"] if call is not None else ())
        if isinstance(value, torch.Tensor)
    ]
    return first[:1] + stations(_before_failing_layer(case))


def _before_failing_layer(case: Case) -> list[Operation]:
    """Return the operations before the failing layer, or the failing call of a function, began."""
    path = case.path_of(case.layer) if case.layer is not None else None
    kept = list(case.operations)
    while kept and case.frame is not None and case.frame.site in kept[-1].sites[:1]:
        if path is not None and not f"{path}.".startswith(f"{kept[-1].module}."):
            break
        kept.pop()
    return kept


def _crash(case: Case, step: int) -> Crash:
    get = case.best_effort.get
    layers = get([], _layers, case)
    return Crash(
        step=step,
        type=type(case.error).__name__,
        message=str(case.error)[:LONGEST_MESSAGE],
        caught=case.caught,
        raised_by=who_raised(
            case.frames, case.error, has_tensors=bool(case.operands or case.inputs)
        ),
        op=case.op,
        location=get(None, _location, case, layers),
        frames=get([], _frames, case.frames),
        operands=get([], _operands, case),
        inputs=get([], _inputs, case),
        layers=layers,
        walk=get([], _walk, case),
        loader=get(None, loader_facts, case.batches, case.frames),
        trials=get([], _trials, case),
        worker=_worker_traceback(case.error),
        facts={**_facts(case), **case.best_effort.failures},
    )


def _location(case: Case, layers: list[Layer]) -> SourceSpan | None:
    if case.frame is None:
        return None
    return span_in_module(case.frame.site, layers[-1].path if layers else None)


def _layers(case: Case) -> list[Layer]:
    return [describe(module, case.names, _made_at(case, module)) for module in case.modules]


def _operands(case: Case) -> list[NamedTensor]:
    return [_named(case, found) for found in case.operands]


def _inputs(case: Case) -> list[NamedTensor]:
    return [_named(case, _by_the_users_name(case, found)) for found in case.inputs]


def _trials(case: Case) -> list[OperandTrial]:
    """Try changes on the real tensors; random state and buffers stay as if nothing had been tried."""
    if not case.frames or not case.is_worth_trying:
        return []
    found: list[OperandTrial] = []
    with nothing_left_behind(case.modules[:1]):
        for group in ATTEMPTS:
            found += case.best_effort.get([], _made, group, case)
    return found


def _made(group: Callable[[Case], Iterator[OperandTrial]], case: Case) -> list[OperandTrial]:
    return list(group(case))


def _made_at(case: Case, module: nn.Module) -> SourceSpan | None:
    made = (
        case.best_effort.get(None, case.builder.made_at, module)
        if case.builder is not None
        else None
    )
    return made.span if made is not None else None


def _frames(frames: list[TracebackFrame]) -> list[FrameSeen]:
    return [
        FrameSeen(
            location=span_of(frame.site),
            tensors=tensors_among(frame.variables),
            numbers=numbers_among(frame.variables),
        )
        for frame in [frame for frame in frames if frame.layer == "user"][-MOST_FRAMES:]
    ]


def _named(case: Case, found: FoundOperand) -> NamedTensor:
    origin, place = producer_of(case, found)
    return named(found.name, found.value, argument=found.argument, origin=origin, made_by=place)


def _by_the_users_name(case: Case, found: FoundOperand) -> FoundOperand:
    """Return a tensor under the name of the program's variable, if torch's frame has another name for it."""
    for frame in reversed(case.frames):
        if frame.layer == "user":
            for name, value in list(frame.variables.items()):
                if value is found.value and not name.startswith("_"):
                    return FoundOperand(name, found.value, found.argument)
    return found


def _facts(case: Case) -> dict[str, Any]:
    """Return further numbers by name."""
    facts: dict[str, Any] = {"in_loader": True} if any(map(_is_data_code, case.frames)) else {}
    nothing: dict[str, Any] = {}
    for collect in (_layer_facts, range_facts, argument_facts, consumer_facts, _dataset_facts):
        facts.update(case.best_effort.get(nothing, collect, case))
    return facts


def _layer_facts(case: Case) -> dict[str, Any]:
    """Return the shape of the innermost layer's input, and the program's name for that tensor if it has one."""
    found = layer_call(case)
    if found is None:
        return _module_facts(case)
    operand = operand_of(case, found[2])
    return {
        "layer_input": list(found[2].shape),
        "layer_input_name": operand.name if operand is not None else "",
    }


def _module_facts(case: Case) -> dict[str, Any]:
    """Return the shape of the first tensor that the user's own module was called with, in whose forward it failed."""
    call = module_call(case.frames, case.layer) if case.layer is not None else None
    given = [one for one in call.args if isinstance(one, torch.Tensor)] if call is not None else []
    return {"module_input": list(given[0].shape)} if given else {}


def _is_data_code(frame: TracebackFrame) -> bool:
    return f"{os.sep}utils{os.sep}data{os.sep}" in frame.filename and frame.layer == "torch"


def _dataset_facts(case: Case) -> dict[str, Any]:
    """Return the field of the dataset that a batch in the failing expression comes from."""
    for found in case.operands:
        if isinstance(found.value, torch.Tensor) and found.value.dtype == torch.float64:
            source = dataset_source(case, found.value)
            if source is not None:
                place = source[1]
                where = f"{place.file}:{place.line}" if place is not None else ""
                expression = place.expression if place is not None else ""
                return {
                    "dataset_field": source[0],
                    "dataset_place": where,
                    "dataset_expression": expression,
                }
    return {}


def _worker_traceback(error: BaseException) -> str | None:
    """Return the original traceback of an error that a loader's worker process sent."""
    text = str(error)
    if "in DataLoader worker process" not in text.split("\n", 1)[0]:
        return None
    return text[:LONGEST_MESSAGE]
