"""What torchwhy tried in order to see a failing step again, and what it could not watch."""

from __future__ import annotations

from torchwhy.finding import Evidence
from torchwhy.record.events import MicroscopeLeft, ProbeFailed, RunStarted
from torchwhy.record.trace import Trace

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
        claim = f"{REPLAYS[replay.how]}: {OUTCOMES[replay.reproduced]}{detail}"
        facts.append(Evidence(claim, step=step))
    for source in (trace, trace.rerun):
        facts += _what_could_not_be_watched(source) if source else []
    return facts


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
