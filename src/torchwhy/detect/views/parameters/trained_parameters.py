"""Queries on optimizers and parameters: which optimizer holds which, and which are never trained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from torchwhy.finding import SourceSpan
from torchwhy.record.events import (
    ExceptionSeen,
    ModuleCalled,
    OptimizerDescribed,
    OptimizerMade,
    Step,
)
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import (
    Followed,
    LateParameter,
    LateParameters,
    ParametersFollowed,
)

ENOUGH_UPDATES = 3  # A parameter that has not changed after this many steps is not trained.
SHOWN = 3  # A sentence lists at most this many names.


def made(trace: Trace, index: int) -> OptimizerMade | None:
    """Return the event of an optimizer's creation."""
    return next((event for event in trace.of(OptimizerMade) if event.index == index), None)


def kind_of(trace: Trace, optimizer: int) -> str:
    """Return the class of an optimizer, or `the optimizer` if its creation was not recorded."""
    event = made(trace, optimizer)
    return event.kind if event is not None else "the optimizer"


def place_of(trace: Trace, optimizer: int) -> SourceSpan | None:
    """Return where an optimizer was created."""
    event = made(trace, optimizer)
    return event.location if event is not None else None


def steps_of(trace: Trace, optimizer: int) -> list[Step]:
    """Return the steps of one optimizer, oldest first."""
    return [step for step in trace.steps if step.optimizer == optimizer]


def is_interleaved(trace: Trace) -> bool:
    """Tell whether several optimizers step in turn, as in a GAN."""
    order = [step.optimizer for step in trace.steps]
    changes = sum(before != after for before, after in pairwise(order))
    return changes >= max(2, len(set(order)))


def ended_early(trace: Trace) -> bool:
    """Tell whether the program ended with an exception, an alarm, an exit code other than 0, or with its rehearsal."""
    uncaught = any(seen.caught is False for seen in trace.of(ExceptionSeen))
    died = uncaught or bool(trace.alarms) or trace.exit_code not in (None, 0)
    return died or trace.was_cut


def followed(trace: Trace) -> dict[str, Followed]:
    """Return the last state of each watched parameter, by name; none if too few updates ran since the census.

    If several parameters share a name, one that changed stands for all of them, to avoid a false alarm.
    """
    found: dict[str, Followed] = {}
    reports = [one for one in trace.of(ParametersFollowed) if one.updates >= ENOUGH_UPDATES]
    for report in reports:
        latest: dict[str, Followed] = {}
        for one in report.parameters:
            known = latest.get(one.name)
            if known is None or one.changed or one.in_optimizer:
                latest[one.name] = one
        found.update(latest)
    return found


def untrained(
    trace: Trace, census: ParameterCensus, gradients: tuple[str, ...] = ("nonzero",)
) -> list[ParameterSeen]:
    """Return the parameters that get gradients and never change, neither by an optimizer nor by the program."""
    states = followed(trace)
    later = _held_later(trace, census)
    return [
        one
        for one in census.parameters
        if one.requires_grad
        and one.gradient in gradients
        and not one.in_optimizer
        and one.name in states
        and not states[one.name].changed
        and not states[one.name].in_optimizer
        and one.name not in later
    ]


def thawed(trace: Trace, census: ParameterCensus) -> list[ParameterSeen]:
    """Return the parameters that were frozen at the census, have got gradients since, and still never change."""
    states = followed(trace)
    later = _held_later(trace, census)
    return [
        one
        for one in census.parameters
        if not one.requires_grad
        and not one.in_optimizer
        and one.name in states
        and states[one.name].thawed_for >= ENOUGH_UPDATES
        and not states[one.name].changed
        and not states[one.name].in_optimizer
        and one.name not in later
    ]


def held_by(trace: Trace, optimizer: int) -> set[str]:
    """Return the names of the parameters that an optimizer holds."""
    return {
        name
        for event in trace.of(OptimizerDescribed)
        if event.index == optimizer
        for name in event.parameters
    }


def held_before(trace: Trace, census: ParameterCensus) -> set[str]:
    """Return the names of the parameters held by optimizers that stepped before the census's optimizer began."""
    stepped = {step.optimizer for step in trace.steps if step.step < census.step}
    return {name for other in stepped - {census.optimizer} for name in held_by(trace, other)}


def _held_later(trace: Trace, census: ParameterCensus) -> set[str]:
    return {
        name
        for event in trace.of(OptimizerDescribed)
        if event.index > census.optimizer
        for name in event.parameters
    }


def joined_late(trace: Trace) -> tuple[LateParameters, list[LateParameter]] | None:
    """Return the parameters that joined a model during training and that no optimizer ever trains."""
    reports = trace.of(LateParameters) if not trace.observation else []
    if not reports:
        return None
    late = [one for one in reports[-1].parameters if one.passes >= ENOUGH_UPDATES]
    return (reports[-1], late) if late else None


def output_module(trace: Trace, census: ParameterCensus) -> str | None:
    """Return the path of the last layer with weights that ran before the census, if all modules were recorded."""
    if not trace.has_all("modules"):
        return None
    with_weights = {one.module for one in census.parameters if one.module is not None}
    walk = [
        call.path
        for call in trace.of(ModuleCalled)
        if call.step <= census.step and call.path in with_weights
    ]
    return walk[-1] if walk else None


def names_of(parameters: Iterable[ParameterSeen | LateParameter]) -> list[str]:
    """Return the names of some parameters."""
    return [one.name for one in parameters]


def listed(names: Sequence[str]) -> str:
    """Return `fc.weight, fc.bias and 4 more parameters`."""
    shown = ", ".join(names[:SHOWN])
    more = len(names) - SHOWN
    plural = "" if more == 1 else "s"
    return f"{shown} and {more} more parameter{plural}" if more > 0 else shown


def first_of(names: Sequence[str], *, most: int = SHOWN) -> str:
    """Return `a, b, c and 4 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def where(place: SourceSpan | None) -> str:
    """Return ` (train.py:12)`, or nothing if the place is unknown."""
    return f" ({place.file}:{place.line})" if place is not None else ""
