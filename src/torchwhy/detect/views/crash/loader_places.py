"""Where the program makes the DataLoader whose batch an exception is about."""

from __future__ import annotations

import ast

from torchwhy.detect.views.crash.crash_view import CrashView
from torchwhy.finding import SourceSpan
from torchwhy.source.analyses.constructors import only_call
from torchwhy.source.analyses.made_places import object_made_at
from torchwhy.source.edits import Source
from torchwhy.source.values import references_in

LOADER = "DataLoader"


def loader_of_batch(crash: CrashView) -> SourceSpan | None:
    """Return the `DataLoader(…)` of the current batch, or the only one in the program."""
    loader = crash.event.loader
    if loader is None:
        return None
    return _drawn_by(crash, loader.location) or only_call(_files(crash), LOADER)


def loader_at_work(crash: CrashView) -> SourceSpan | None:
    """Return the `DataLoader(…)` that raised while it built a batch; None if a function of the program raised."""
    return _drawn_by(crash, crash.event.location)


def _drawn_by(crash: CrashView, place: SourceSpan | None) -> SourceSpan | None:
    """Return the one DataLoader that the statement at a place makes or names."""
    source = crash.trace.files.get(place.file) if place is not None else None
    statement = (
        source.statement_at(place.line) if source is not None and place is not None else None
    )
    if source is None or statement is None:
        return None
    head = statement.iter if isinstance(statement, ast.For) else statement
    found = [source.span(call) for call in source.calls(LOADER, within=head)]
    if not found:
        made = (object_made_at(_files(crash), source, p, LOADER) for p in references_in(head))
        found = [one for one in made if one is not None]
    return found[0] if len(set(found)) == 1 else None


def _files(crash: CrashView) -> list[Source]:
    return list(crash.trace.files.values())
