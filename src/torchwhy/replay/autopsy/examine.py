"""The autopsy itself: from a dead program's traceback to one `Crash`.

Called once, when the program is over or when it swallowed an exception; never on a healthy step. Runs no code of
the user's, except (in a program that is ending anyway) the model's own forward, to see the shapes in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.utils._python_dispatch import _disable_current_modes

from torchwhy.finding import SourceSpan
from torchwhy.observe.frames import span_of
from torchwhy.record.events import Crash, FrameSeen, NamedTensor, WalkStep
from torchwhy.replay.autopsy.again import model_call, seen_again
from torchwhy.replay.autopsy.construction import Builder
from torchwhy.replay.autopsy.described import named, numbers_among, tensors_among
from torchwhy.replay.autopsy.layers import describe, running_modules
from torchwhy.replay.autopsy.loader import loader_facts
from torchwhy.replay.autopsy.operands import Found, inputs_of, operands_of
from torchwhy.replay.autopsy.spots import Spot, below, blamed, who_raised
from torchwhy.replay.autopsy.walk import stations
from torchwhy.replay.expressions import span_in_module
from torchwhy.replay.operations import Operation

if TYPE_CHECKING:
    from torchwhy.replay.stage import Stage

LONGEST_MESSAGE = 4000
MOST_FRAMES = 12  # of the user's frames: the innermost ones


@dataclass(eq=False)
class Case:
    """What the steps of an autopsy share: the live frames, tensors and modules around the exception."""

    stage: Stage
    error: BaseException
    spots: list[Spot]
    caught: bool = False
    spot: Spot | None = None
    callees: list[Spot] = field(default_factory=list)
    operands: list[Found] = field(default_factory=list)
    inputs: list[Found] = field(default_factory=list)
    op: str | None = None
    modules: list[nn.Module] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    builder: Builder | None = None

    @property
    def layer(self) -> nn.Module | None:
        """Return the innermost running module."""
        return self.modules[-1] if self.modules else None


def examine(stage: Stage, error: BaseException, spots: list[Spot], *, caught: bool = False) -> Crash:
    """Return everything about an exception that a person would look at."""
    with _disable_current_modes(), torch.no_grad():
        return _crash(opened(stage, error, spots, caught=caught))


def opened(stage: Stage, error: BaseException, spots: list[Spot], *, caught: bool = False) -> Case:
    """Return the case: the user's frame, its operands, the torch function below it, the running modules."""
    case = Case(stage, error, spots, caught)
    case.spot = blamed(spots)
    if case.spot is None:
        return case
    case.callees = below(spots, case.spot)
    stage.session.names.learn(spots[-1].frame)
    case.operands = operands_of(case.spot, case.callees)
    case.op, case.inputs = inputs_of(case.callees)
    case.modules = running_modules(spots)
    files = [one.frame.f_code.co_filename for one in reversed(spots) if one.layer == "user"]
    case.builder = Builder(stage.session.names, files)
    _see_operations(case)
    return case


def _see_operations(case: Case) -> None:
    """Take the operations of the first step as seen; of a later step, see the model call once more."""
    microscope = case.stage.microscope
    if microscope.is_on:
        case.operations = microscope.operations()
        begins = [began for began, _ in microscope.forwards]
        if begins:
            case.operations = [one for one in case.operations if one.order > begins[-1]]
    elif not case.caught:
        again = seen_again(case.stage, case.error, case.spots)
        if again is not None:
            spots, case.operations = again
            user = blamed(spots)
            case.op, case.inputs = inputs_of(below(spots, user)) if user is not None else (case.op, case.inputs)


def _walk(case: Case) -> list[WalkStep]:
    """Return the stations of the data, the model's own input first."""
    if not case.operations:
        return []
    call = model_call(case.spots)
    first: list[WalkStep] = []
    for value in call.variables["args"] if call is not None else ():
        if isinstance(value, torch.Tensor):
            first.append(WalkStep(what="input", shape=list(value.shape), dtype=str(value.dtype).removeprefix("torch.")))
    return first[:1] + stations(case.operations)


def _crash(case: Case) -> Crash:
    session, names = case.stage.session, case.stage.session.names
    has_tensors = bool(case.operands or case.inputs)
    layers = [describe(module, names, _made_at(case, module)) for module in case.modules]
    location = None
    if case.spot is not None:
        location = span_in_module(case.spot.site, layers[-1].path if layers else None)
    return Crash(
        step=session.sentinel.step,
        type=type(case.error).__name__,
        message=str(case.error)[:LONGEST_MESSAGE],
        caught=case.caught,
        raised_by=who_raised(case.spots, case.error, has_tensors=has_tensors),
        op=case.op,
        location=location,
        frames=_frames(case.spots),
        operands=[_named(case, found) for found in case.operands],
        inputs=[_named(case, found) for found in case.inputs],
        layers=layers,
        walk=_walk(case),
        loader=loader_facts(session, case.spots),
        worker=_worker_traceback(case.error),
    )


def _made_at(case: Case, module: nn.Module) -> SourceSpan | None:
    made = case.builder.made_at(module) if case.builder is not None else None
    return made.span if made is not None else None


def _frames(spots: list[Spot]) -> list[FrameSeen]:
    return [
        FrameSeen(
            location=span_of(spot.site),
            tensors=tensors_among(spot.variables),
            numbers=numbers_among(spot.variables),
        )
        for spot in [spot for spot in spots if spot.layer == "user"][-MOST_FRAMES:]
    ]


def _named(case: Case, found: Found) -> NamedTensor:
    origin: dict[str, Any] = {}
    if isinstance(found.value, torch.Tensor):
        known = case.stage.context.origin_of(found.value)
        if known.kind != "unknown":
            origin = {"origin": known.kind, "made_by": known.location}
    return named(found.name, found.value, argument=found.argument, **origin)


def _worker_traceback(error: BaseException) -> str | None:
    """Return the original traceback of an error that a loader's worker process sent."""
    text = str(error)
    if "in DataLoader worker process" not in text.split("\n", 1)[0]:
        return None
    return text[:LONGEST_MESSAGE]
