"""What torchwhy tried in order to see a failing step again, and what it could not watch."""

from __future__ import annotations

from torchwhy.finding import Evidence
from torchwhy.record.events import MicroscopeLeft, ProbeFailed, RunStarted
from torchwhy.record.trace import Trace

NAMES_SHOWN = 3
RECENT_LOSSES = 8  # enough to see whether the loss grew before it became non-finite

REPLAYS = {
    "first-step": "torchwhy watched the operations of this step",
    "in-place": "torchwhy repeated the step in place",
    "rerun": "torchwhy repeated the step in a second run",
}
OUTCOMES = {
    True: "it failed",
    False: "it was finite",
    None: "there was nothing to compare it with",
}


def what_was_tried(trace: Trace, step: int) -> list[Evidence]:
    """Return the recent losses, how the step was repeated, and what torchwhy could not watch."""
    losses = tuple(trace.losses()[-RECENT_LOSSES:])
    facts = []
    if losses:
        count = "loss" if len(losses) == 1 else f"{len(losses)} losses"
        facts.append(Evidence(f"the last {count}", step=step, series=losses))
    replay = trace.replay_of(step)
    if replay is None:
        facts.append(Evidence("torchwhy could not repeat the step", step=step))
    else:
        detail = f"; {replay.detail}" if replay.detail else ""
        outcome = OUTCOMES[replay.reproduced]
        if replay.reproduced is False and replay.faithful is False:
            outcome = "other data or random numbers went in"
        claim = f"{REPLAYS[replay.how]}: {outcome}{detail}"
        facts.append(Evidence(claim, step=step))
    for source in (trace, trace.rerun):
        facts += _what_could_not_be_watched(source) if source else []
    return facts


def why_not_repeated(trace: Trace, step: int) -> str | None:
    """Return why the failing step was not seen a second time; None if it was, or if the first time was watched."""
    replay = trace.replay_of(step)
    if replay is None:
        return "the step could not be repeated"
    if replay.reproduced is not False or replay.faithful:
        return None
    if replay.how == "rerun":
        return f"a second run was finite at that step ({replay.detail}); seed every source of randomness"
    names = ", ".join(f"`{name}`" for name in replay.moved[:NAMES_SHOWN])
    moved = f" ({names} had other values the second time)" if names else ""
    return f"the loop moved on and could not be repeated in place{moved}"


def _what_could_not_be_watched(trace: Trace) -> list[Evidence]:
    left = [
        Evidence(f"the microscope was switched off: {event.reason}", step=event.step)
        for event in trace.of(MicroscopeLeft)
        if event.cut_short
    ]
    failed = [
        Evidence(f"{event.probe} failed and was switched off: {event.reason}")
        for event in trace.of(ProbeFailed)
    ]
    missing = [
        Evidence(f"{', '.join(one.left_out)} left out: {one.lost}")
        for started in trace.of(RunStarted)
        for one in started.missing
        if one.left_out
    ]
    return left + failed + missing
