"""Where a layer or a loader is made, read off the text alone: by its path, or by the expression that uses it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from torchwhy.finding import SourceSpan
from torchwhy.source.analyses.constructors import (
    Written,
    assigned,
    assigned_by_methods,
    made_by_function,
    may_make,
    only_call,
    part_of,
)
from torchwhy.source.bindings import reference
from torchwhy.source.edits import Source

CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")


def layer_made_at(
    files: Sequence[Source], path: str, kinds: Mapping[str, str]
) -> SourceSpan | None:
    """Return the constructor call of the layer at a path such as `model.head.2`; `kinds` are classes by path."""
    kind = kinds.get(path)
    if kind is None:
        return None
    named = [one for one in _made(files, path, kinds) if may_make(one.node, kind)]
    return named[-1].span if named else only_call(files, kind)


def _made(files: Sequence[Source], path: str, kinds: Mapping[str, str]) -> list[Written]:
    """Return the expressions that may make what stands at a path, followed into functions that build it."""
    owner, _, name = path.rpartition(".")
    found: Iterator[Written]
    if not owner:
        found = (one for source in files for one in assigned(source, name, f"self.{name}"))
    elif kinds.get(owner) in CONTAINERS:
        wholes = _made(files, owner, kinds) if name.isdigit() else []
        found = (part for one in wholes if (part := part_of(one, int(name))) is not None)
    else:
        found = (
            one
            for source in files
            for one in assigned_by_methods(source, kinds.get(owner, ""), name)
        )
    return [made for one in found for made in made_by_function(one, files)]


def object_made_at(
    files: Sequence[Source], source: Source, used: ast.expr, kind: str
) -> SourceSpan | None:
    """Return the call that made what `loader`, `self.criterion` or `DataLoader(…)` stands for in an expression.

    The call must name the class `kind`, and be the only one that the name is given.
    """
    calls = [used] if isinstance(used, ast.Call) else []
    name = reference(used)
    if name is not None:
        for file in (source, *(one for one in files if one is not source)):
            given = [one.node for one in assigned(file, name)]
            if given:
                calls = [node for node in given if isinstance(node, ast.Call)]
                source = file
                break
    fitting = [call for call in calls if may_make(call, kind)]
    return source.span(fitting[0]) if len(fitting) == 1 else None
