"""Edits of a reshape whose sizes do not fit, together with the layer that takes its rows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.diagnosis import Shape
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.calls import is_method, keyword
from torchwhy.source.edits import Edit, Source, in_brackets


def flattened(
    place: SourceSpan | None, source: Source, *, layer: str, features: int
) -> Iterator[Fix]:
    """Yield `x.flatten(1)`, which needs no sizes, and a next layer that takes its rows."""
    node = source.at(place)
    if not isinstance(node, ast.Call) or not is_method(source, node):
        return
    resized = _layer_resized(source, layer, str(features))
    if isinstance(node.func, ast.Attribute) and resized is not None:
        text = f"{in_brackets(source.of(node.func.value), node.func.value)}.flatten(1)"
        title = f"use {text}, and construct {layer} with {features} input features"
        yield from source.fix(title, source.replace(node, text), resized)


def asked_for(place: SourceSpan | None, source: Source, *, sizes: Shape) -> Iterator[Fix]:
    """Yield the call at the place with the sizes that fit."""
    node = source.at(place)
    for part in ast.walk(node) if isinstance(node, ast.Call) else ():
        if isinstance(part, ast.Tuple | ast.List) and len(part.elts) == len(sizes):
            text = f"({', '.join(map(str, sizes))})"
            yield from source.fix(f"ask for {text}", source.replace(part, text))


def _layer_resized(source: Source, layer: str, features: str) -> Edit | None:
    """Return the edit of the first size of the layer, which is found by the last part of its name."""
    leaf = layer.rpartition(".")[2]
    for made in ast.walk(source.tree):
        value = made.value if isinstance(made, ast.Assign) else None
        if not isinstance(value, ast.Call) or not isinstance(made, ast.Assign):
            continue
        given = keyword(value, "in_features") or (value.args[0] if value.args else None)
        if source.of(made.targets[0]).rpartition(".")[2] == leaf and given is not None:
            return source.replace(given, features)
    return None
