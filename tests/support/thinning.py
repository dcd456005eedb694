"""Leaves out most of what a trace holds of its observations, as the recorder does for very large models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import msgspec

from torchwhy.record.events import Event, LeftOut, ModuleCalled, Recorded
from torchwhy.record.learning import Activation, GraphOperation, ParameterCensus
from torchwhy.record.trace import Trace


def thinned(trace: Trace, kept: int) -> Trace:
    """Return a trace with at most `kept` operations, module calls, activations and parameters per observation."""
    events: Iterable[Event] = trace.events
    events = _cut(events, GraphOperation, "operations", kept, keeps_last=True)
    events = _cut(events, ModuleCalled, "modules", kept)
    events = _cut(events, Activation, "activations", kept)
    events = [thin for event in events for thin in _census(event, kept)]
    rerun = thinned(trace.rerun, kept) if trace.rerun is not None else None
    return replace(trace, events=tuple(events), rerun=rerun, _by_kind={}, _files={})


def _cut(
    events: Iterable[Event],
    kind: type[GraphOperation | ModuleCalled | Activation],
    what: Recorded,
    kept: int,
    *,
    keeps_last: bool = False,
) -> list[Event]:
    """Leave out all but `kept` events of one kind per observation: of operations, the nearest to the loss stay."""
    events = list(events)
    found = [event for event in events if isinstance(event, kind)]
    gone: set[int] = set()
    left: list[Event] = []
    for look in {event.look for event in found}:
        seen = [event for event in found if event.look == look]
        if isinstance(seen[0], GraphOperation):
            seen.sort(key=lambda event: getattr(event, "order", 0))
        beyond = seen[:-kept] if keeps_last else seen[kept:]
        gone |= set(map(id, beyond))
        if beyond:
            left.append(LeftOut(step=seen[0].step, what=what, kept=kept, look=look))
    return [event for event in events if id(event) not in gone] + left


def _census(event: Event, kept: int) -> list[Event]:
    if not isinstance(event, ParameterCensus) or len(event.parameters) <= kept:
        return [event]
    thin = msgspec.structs.replace(event, parameters=event.parameters[:kept])
    return [thin, LeftOut(step=event.step, what="parameters", kept=kept, look=event.look)]
