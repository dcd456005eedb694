"""The loaders of a run: those that train, those that only evaluate, and where the program makes them."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from torchwhy.finding import SourceSpan
from torchwhy.record.inputs.data_events import LoaderSeen
from torchwhy.record.trace import Trace
from torchwhy.source.analyses.constructors import only_call
from torchwhy.source.analyses.made_places import object_made_at
from torchwhy.source.edits import Source
from torchwhy.source.values import references_in

LOADER = "DataLoader"


def training(trace: Trace) -> list[LoaderSeen]:
    """Return the loaders whose batches feed backward passes."""
    return [one for one in trace.of(LoaderSeen) if one.trains]


def evaluating(trace: Trace) -> list[LoaderSeen]:
    """Return the loaders whose batches never feed a backward pass."""
    return [one for one in trace.of(LoaderSeen) if one.evaluates and not one.trains]


def name_of(loader: LoaderSeen) -> str:
    """Return the variable that holds a loader's dataset, or else the loader; the dataset's class if none does."""
    return loader.name or loader_name(loader)


def loader_name(loader: LoaderSeen) -> str:
    """Return the outermost variable that holds a loader; the dataset's class if none does."""
    return next(reversed(loader.variables), loader.dataset)


def made_at(trace: Trace, loader: LoaderSeen) -> SourceSpan | None:
    """Return the `DataLoader(…)` call, or else the place where batches are drawn."""
    for variable in loader.variables:
        found = loader_in_variable(trace.files, variable)
        if found is not None:
            return found
    for place in loader.places:
        found = loader_named_at(trace.files, place)
        if found is not None:
            return found
    return only_call(trace.files.values(), LOADER) or next(iter(loader.places), None)


def loader_in_variable(files: Mapping[str, Source], variable: str) -> SourceSpan | None:
    """Return the one `DataLoader(…)` call that a variable is given in the whole program."""
    every = list(files.values())
    if not every:
        return None
    return object_made_at(every, every[0], ast.Name(id=variable, ctx=ast.Load()), LOADER)


def loader_named_at(files: Mapping[str, Source], place: SourceSpan) -> SourceSpan | None:
    """Return the one `DataLoader(…)` call that the statement at a place makes or names."""
    source = files.get(place.file)
    statement = source.statement_at(place.line) if source is not None else None
    if source is None or statement is None:
        return None
    head = statement.iter if isinstance(statement, ast.For) else statement
    found = [source.span(call) for call in source.calls(LOADER, within=head)]
    if not found:
        every = list(files.values())
        made = (object_made_at(every, source, part, LOADER) for part in references_in(head))
        found = [one for one in made if one is not None]
    return found[0] if len(set(found)) == 1 else None
