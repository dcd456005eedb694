"""Edits of a loss or metric that sums over samples: the mean instead of the sum."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.calls import keyword
from torchwhy.source.edits import Source, in_brackets


def mean_for_sum(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `.mean()` for the `.sum()` of an expression, and `reduction="mean"` for each "sum" in the file."""
    node = source.at(place)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        function = source.of(node.func)
        if node.func.attr == "sum" and not node.keywords and len(node.args) < 2:
            mean = function.removesuffix("sum") + "mean"
            yield from source.fix("take the mean over the samples", source.replace(node.func, mean))
    for call in ast.walk(source.tree):
        given = keyword(call, "reduction") if isinstance(call, ast.Call) else None
        if isinstance(given, ast.Constant) and given.value == "sum":
            yield from source.fix("take the mean over the samples", source.replace(given, '"mean"'))


def divided_by_samples(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `len(loader.dataset)` for the only `len(loader)` of an average; other forms are ambiguous."""
    statement = None if place is None else source.statement_at(place.line)
    around = source.at(place) or statement
    lengths = [
        call
        for call in (source.calls("len", within=around) if around is not None else [])
        if len(call.args) == 1 and isinstance(call.args[0], ast.Name | ast.Attribute)
    ]
    if len(lengths) == 1:
        inner = source.of(lengths[0].args[0])
        yield from source.fix(
            "divide the count by the number of samples",
            source.replace(lengths[0], f"len({inner}.dataset)"),
        )


def one_minus(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield one minus the expression at a place."""
    node = source.at(place)
    if isinstance(node, ast.expr):
        inner = in_brackets(source.of(node), node)
        yield from source.fix("minimise one minus it", source.replace(node, f"1 - {inner}"))


def without_minus(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the expression at a place without the minus sign before it."""
    node = source.at(place)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = source.of(node.operand)
        yield from source.fix("remove the minus sign", source.replace(node, inner))
