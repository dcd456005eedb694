"""What detectors of *wiring* ask of a trace: who trains which parameter, in which order calls come, how rates go."""

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

ENOUGH_UPDATES = 3  # steps after which a parameter that has not moved is one that nobody moves
SHOWN = 3  # names told in a sentence


def made(trace: Trace, index: int) -> OptimizerMade | None:
    """Return the making of an optimizer."""
    return next((event for event in trace.of(OptimizerMade) if event.index == index), None)


def kind_of(trace: Trace, optimizer: int) -> str:
    """Return the class of an optimizer, in other words where its making was not seen."""
    maker = made(trace, optimizer)
    return maker.kind if maker is not None else "the optimizer"


def place_of(trace: Trace, optimizer: int) -> SourceSpan | None:
    """Return where an optimizer was made."""
    maker = made(trace, optimizer)
    return maker.location if maker is not None else None


def steps_of(trace: Trace, optimizer: int) -> list[Step]:
    """Return the steps of one optimizer, oldest first."""
    return [step for step in trace.steps if step.optimizer == optimizer]


def is_interleaved(trace: Trace) -> bool:
    """Tell whether several optimizers step in turn, as in a game of two networks."""
    order = [step.optimizer for step in trace.steps]
    changes = sum(before != after for before, after in pairwise(order))
    return changes >= max(2, len(set(order)))


def program_died(trace: Trace) -> bool:
    """Tell whether the program ended by an exception, by us, or with a failure."""
    uncaught = any(seen.caught is False for seen in trace.of(ExceptionSeen))
    return uncaught or bool(trace.alarms) or trace.exit_code not in (None, 0)


def followed(trace: Trace) -> dict[str, Followed]:
    """Return the last look at each odd parameter, by name; nothing if too few updates have run since the census.

    Of several parameters of one name the one that moved speaks for all: in doubt somebody trains them.
    """
    found: dict[str, Followed] = {}
    looks = [look for look in trace.of(ParametersFollowed) if look.updates >= ENOUGH_UPDATES]
    for look in looks:
        latest: dict[str, Followed] = {}
        for one in look.parameters:
            known = latest.get(one.name)
            if known is None or one.changed or one.in_optimizer:
                latest[one.name] = one
        found.update(latest)
    return found


def untrained(
    trace: Trace, census: ParameterCensus, gradients: tuple[str, ...] = ("nonzero",)
) -> list[ParameterSeen]:
    """Return the parameters that get gradients and that nobody ever changed, by optimizer or by hand."""
    looks = followed(trace)
    later = _held_later(trace, census)
    return [
        one
        for one in census.parameters
        if one.requires_grad
        and one.gradient in gradients
        and not one.in_optimizer
        and one.name in looks
        and not looks[one.name].changed
        and not looks[one.name].in_optimizer
        and one.name not in later
    ]


def thawed(trace: Trace, census: ParameterCensus) -> list[ParameterSeen]:
    """Return the parameters that were frozen at the census, get gradients since, and are still changed by nobody."""
    looks = followed(trace)
    later = _held_later(trace, census)
    return [
        one
        for one in census.parameters
        if not one.requires_grad
        and not one.in_optimizer
        and one.name in looks
        and looks[one.name].thawed_for >= ENOUGH_UPDATES
        and not looks[one.name].changed
        and not looks[one.name].in_optimizer
        and one.name not in later
    ]


def held_by(trace: Trace, optimizer: int) -> set[str]:
    """Return the parameters that an optimizer was given, by name."""
    return {
        name
        for event in trace.of(OptimizerDescribed)
        if event.index == optimizer
        for name in event.parameters
    }


def held_before(trace: Trace, census: ParameterCensus) -> set[str]:
    """Return what the optimizers hold that made a step before the one of a census began."""
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
    """Return the parameters that joined a model in the middle of training and that nobody trains to its end."""
    looks = trace.of(LateParameters) if not trace.observation else []
    late = [one for one in looks[-1].parameters if one.passes >= ENOUGH_UPDATES] if looks else []
    return (looks[-1], late) if late else None


def output_module(trace: Trace, census: ParameterCensus) -> str | None:
    """Return the path of the last layer with weights that ran before the census."""
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
    """Return ` (train.py:12)`, or nothing where the place is unknown."""
    return f" ({place.file}:{place.line})" if place is not None else ""
