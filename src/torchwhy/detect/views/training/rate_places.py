"""Where a learning rate got its value: where the optimizer was made, or the statement that set it since."""

from __future__ import annotations

from torchwhy.detect.views.training.source_statements import rate_settings
from torchwhy.finding import SourceSpan
from torchwhy.record.events import OptimizerMade
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import SchedulerSeen

RAISED = 1.5  # times the first rate: from here on it is not the first rate that is too high


def place_of_rate(
    trace: Trace, made: OptimizerMade, rates: tuple[float | None, float | None]
) -> SourceSpan | None:
    """Return the place that set the rate: the one `group["lr"] = …` of a program that raised it by hand.

    `rates` are the first one and the one to judge. Where a scheduler sets rates, or several statements do, nobody
    knows whose work it is, and the place where the optimizer was made is told.
    """
    first, now = rates
    made_with = made.defaults.get("lr")
    if isinstance(made_with, (int, float)) and first:
        first = min(first, float(made_with)) or first
    statements = {(place.file, place.line): place for place in rate_settings(trace)}
    is_raised = bool(first and now and now > RAISED * first)
    is_scheduled = any(seen.optimizer in (made.index, -1) for seen in trace.of(SchedulerSeen))
    if is_raised and not is_scheduled and len(statements) == 1:
        return next(iter(statements.values()))
    return made.location
