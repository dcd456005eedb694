"""Statements of the program, from the source text that is stored with the trace."""

from __future__ import annotations

from torchwhy.finding import SourceSpan
from torchwhy.record.events import OptimizerMade
from torchwhy.record.learning import ParameterCensus
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import LateParameters
from torchwhy.source.analyses import training_statements as statements
from torchwhy.source.edits import Source


def rate_settings(trace: Trace) -> list[SourceSpan]:
    """Return the statements that set the learning rate of a parameter group."""
    return statements.rate_settings(_files(trace))


def schedules_made(trace: Trace) -> list[SourceSpan]:
    """Return the statements that create a scheduler."""
    return statements.schedules_made(_files(trace))


def freezing(trace: Trace) -> list[SourceSpan]:
    """Return the statements that freeze parameters, if a census has a frozen one."""
    return statements.freezing(_files(trace)) if _saw_frozen(trace) else []


def thawing(trace: Trace) -> list[SourceSpan]:
    """Return the statements that make parameters trainable, if a census has a frozen one."""
    return statements.thawing(_files(trace)) if _saw_frozen(trace) else []


def set_to_false(trace: Trace, attribute: str) -> SourceSpan | None:
    """Return the first statement that sets an attribute of something else than `self` to False."""
    return next(iter(statements.set_to_false(_files(trace), attribute)), None)


def uncalled(trace: Trace, method: str) -> SourceSpan | None:
    """Return the statement that names a method without calling it: `model.eval`."""
    places = statements.uncalled_methods(_files(trace))
    return next((p for p in places if (p.expression or "").rpartition(".")[2] == method), None)


def joining(trace: Trace, late: LateParameters) -> list[SourceSpan]:
    """Return the statements that may have added these parameters to their models."""
    paths = [f"{one.model}.{one.name}".split(".")[1:] for one in late.parameters]
    names = {part for path in paths for part in path if not part.isdigit()}
    return statements.joining(trace.files.values(), names) if names else []


def reads_gradients(trace: Trace) -> bool | None:
    """Tell whether the program's own code uses a gradient; None if its text is unknown."""
    return statements.reads_gradients(trace.files.values()) if trace.files else None


def clears_gradients(trace: Trace) -> bool:
    """Tell whether the program may clear gradients: its text does, or is unknown."""
    return not trace.files or statements.clears_gradients(trace.files.values())


def _files(trace: Trace) -> list[Source]:
    """Return the program's files; none if it has no optimizer."""
    has_optimizer = any(isinstance(event, OptimizerMade) for event in trace.events)
    return list(trace.files.values()) if has_optimizer else []


def _saw_frozen(trace: Trace) -> bool:
    """Tell whether a parameter was frozen at an optimizer's first step, in any observation."""
    return any(
        not parameter.requires_grad
        for event in trace.events
        if isinstance(event, ParameterCensus)
        for parameter in event.parameters
    )
