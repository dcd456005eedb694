"""Where a learning rate got its value: where the optimizer was made, or at the statement that set it later."""

from __future__ import annotations

from torchwhy.detect.views.training.source_statements import rate_settings
from torchwhy.finding import SourceSpan
from torchwhy.record.events import OptimizerMade
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import SchedulerSeen

RAISED = 1.5  # If the learning rate rose by this factor, the statement that raised it is the place to change.


def place_of_rate(
    trace: Trace, made: OptimizerMade, rates: tuple[float | None, float | None]
) -> SourceSpan | None:
    """Return where the learning rate was set: the single `group["lr"] = …` that raised it, or the optimizer's place.

    `rates` are the first learning rate and the one to judge. If a scheduler or several statements set the learning
    rate, the trace does not show which of them did.
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
