"""Edits that keep a result which the program throws away."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.analyses.dropped_values import dropped_value, replaceable
from torchwhy.source.edits import Source

# Methods of tensors that have a twin in place.
TWINS = ("abs", "add", "clamp", "clip", "div", "masked_fill", "mul", "nan_to_num", "sign", "sub")


def assign_result(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `x = x.clamp(0, 1)` for the statement `x.clamp(0, 1)`."""
    node = dropped_value(source, place) if place is not None else None
    target = replaceable(source, node) if node is not None else None
    if node is None or target is None:
        return
    text = f"{target} = {source.of(node)}"
    yield from source.fix(f"assign the result to `{target}`", source.replace(node, text))


def in_place(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `w.grad.clamp_(-1, 1)` for the statement `w.grad.clamp(-1, 1)`; no graph follows a gradient."""
    node = dropped_value(source, place) if place is not None else None
    function = node.func if isinstance(node, ast.Call) else None
    if not isinstance(function, ast.Attribute) or function.attr not in TWINS:
        return
    holder = function.value
    if isinstance(holder, ast.Attribute) and holder.attr in ("grad", "data"):
        changed = source.replace(function, f"{source.of(holder)}.{function.attr}_")
        yield from source.fix(f"change `{source.of(holder)}` in place", changed)
