"""Guards for an operation whose result a mask discards: the mask hides its value, but not its gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.fixes.values.exponentials import LARGEST_EXPONENT, for_exp
from torchwhy.detect.fixes.values.guards import (
    DOMAINS,
    at_most,
    for_division,
    for_domain,
    for_log,
    for_root,
    guarded,
    operation_at,
)
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.calls import operand_of, word_of
from torchwhy.source.edits import Source


def for_masked(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a guard for the operand of a masked operation: the mask hides its value, but not its gradient."""
    node = operation_at(place, source)
    inner_operation = _operation_inside(source, node)
    if node is not None and inner_operation is not None:
        assert place is not None
        yield from for_masked(span_of(source, inner_operation, place), source)
    word = word_of(node)
    if word in ("log", "log2", "log10", "log1p"):
        inner = None if node is None else operand_of(source, node)
        if word_of(inner) == "exp":
            yield from guarded(source, inner, at_most(LARGEST_EXPONENT), hides=False)
        yield from for_log(place, source, is_masked=True)
    elif word in ("exp", "expm1"):
        yield from for_exp(place, source, hides=False)
    elif word in ("sqrt", "rsqrt", "pow", "norm", "std"):
        yield from for_root(place, source, is_masked=True)
    elif word in DOMAINS:
        yield from for_domain(place, source, hides=False)
    elif isinstance(node, ast.BinOp):
        yield from (
            for_root(place, source, is_masked=True)
            if isinstance(node.op, ast.Pow)
            else for_division(place, source, hides=False)
        )


def _operation_inside(source: Source, node: ast.expr | None) -> ast.expr | None:
    """Return the only logarithm, root or power inside a product or sum, `p * log(p)`."""
    if not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Pow | ast.Div):
        return None
    found = list(source.calls("log", "sqrt", "exp", *DOMAINS, within=node))
    return found[0] if len(found) == 1 else None


def span_of(source: Source, node: ast.expr, place: SourceSpan) -> SourceSpan:
    """Return the span of an expression in the file of another span."""
    start, end = source.stretch(node)
    first, last = source.offset(node.lineno, 0), source.offset(node.end_lineno or node.lineno, 0)
    return replace(
        place,
        line=node.lineno,
        end_line=node.end_lineno,
        column=start - first,
        end_column=end - last,
        expression=source.of(node),
    )
