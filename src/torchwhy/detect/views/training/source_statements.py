"""What detectors ask of the program's text, which the trace holds as it ran."""

from __future__ import annotations

from torchwhy.finding import SourceSpan
from torchwhy.record.events import OptimizerMade
from torchwhy.record.learning import ParameterCensus
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import LateParameters
from torchwhy.source.analyses import training_statements as statements
from torchwhy.source.edits import Source


def rate_settings(trace: Trace) -> list[SourceSpan]:
    """Return the statements that set the rate of a group by hand."""
    return statements.rate_settings(_files(trace))


def schedules_made(trace: Trace) -> list[SourceSpan]:
    """Return the statements that make a scheduler."""
    return statements.schedules_made(_files(trace))


def freezing(trace: Trace) -> list[SourceSpan]:
    """Return the statements that freeze parameters, where one was seen frozen."""
    return statements.freezing(_files(trace)) if _saw_frozen(trace) else []


def thawing(trace: Trace) -> list[SourceSpan]:
    """Return the statements that make parameters trainable, where one was seen frozen."""
    return statements.thawing(_files(trace)) if _saw_frozen(trace) else []


def uncalled(trace: Trace, method: str) -> SourceSpan | None:
    """Return the statement that names a method and does not call it: `model.eval`."""
    places = statements.uncalled_methods(_files(trace))
    return next((p for p in places if (p.expression or "").rpartition(".")[2] == method), None)


def joining(trace: Trace, look: LateParameters) -> list[SourceSpan]:
    """Return the statements that can have put these parameters into their models."""
    paths = [f"{one.model}.{one.name}".split(".")[1:] for one in look.parameters]
    names = {part for path in paths for part in path if not part.isdigit()}
    return statements.joining(trace.files.values(), names) if names else []


def reads_gradients(trace: Trace) -> bool | None:
    """Tell whether the program does anything with a gradient by itself; None if its text is not known."""
    return statements.reads_gradients(trace.files.values()) if trace.files else None


def _files(trace: Trace) -> list[Source]:
    """Return the program's files; none of a program that trains nothing with an optimizer."""
    has_optimizer = any(isinstance(event, OptimizerMade) for event in trace.events)
    return list(trace.files.values()) if has_optimizer else []


def _saw_frozen(trace: Trace) -> bool:
    """Tell whether a parameter was frozen at an optimizer's first step, in whichever look."""
    return any(
        not parameter.requires_grad
        for event in trace.events
        if isinstance(event, ParameterCensus)
        for parameter in event.parameters
    )
