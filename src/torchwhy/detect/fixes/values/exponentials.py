"""Fixes for an exponential that overflows: one torch function for the whole formula, or a bounded exponent."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.fixes.values.guards import at_most, between, guarded, operation_at
from torchwhy.detect.fixes.values.logarithms import from_logits
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.bindings import assignments, names_in
from torchwhy.source.calls import is_method, keyword, module_names, operand_of, torch_name, word_of
from torchwhy.source.edits import Edit, Source, in_brackets
from torchwhy.source.text import one_line

LARGEST_EXPONENT = 80  # exp(80) = 5.5e34 leaves room for a sum and a product in float32
MILD_EXPONENT = 10  # exp(10) = 22026: for losses that one huge value would dominate


def for_exp(place: SourceSpan | None, source: Source, *, hides: bool = True) -> Iterator[Fix]:
    """Yield fixes for an exponential that overflows: one torch function for the formula, or a clamped exponent."""
    node = operation_at(place, source)
    if isinstance(node, ast.Call):
        yield from _as_sigmoid(source, node)
        yield from _as_logsumexp(source, node)
        yield from _shifted(source, node)
    if word_of(node) in ("cosh", "sinh"):
        bounded = between(f"-{LARGEST_EXPONENT}", f"{LARGEST_EXPONENT}")
        yield from guarded(source, node, bounded, hides=hides)
    elif word_of(node) in ("exp", "exp_", "expm1", "exp2"):
        yield from guarded(source, node, at_most(LARGEST_EXPONENT), hides=hides)
        yield from guarded(source, node, at_most(MILD_EXPONENT), hides=hides)
        yield from _bounded_where_made(source, node)
    else:  # a loss or distribution that computes the exponential internally
        whole = source.at(place)
        for bound in (LARGEST_EXPONENT, MILD_EXPONENT):
            yield from guarded(source, whole, at_most(bound))


def _as_sigmoid(source: Source, node: ast.Call) -> Iterator[Fix]:
    """Yield sigmoid(z) for 1 / (1 + exp(-z))."""
    torch, value = torch_name(source), operand_of(source, node)
    total = source.parents.get(node)
    whole = None if total is None else source.parents.get(total)
    if (
        torch is not None
        and isinstance(value, ast.UnaryOp)
        and isinstance(value.op, ast.USub)
        and isinstance(total, ast.BinOp)
        and isinstance(total.op, ast.Add)
        and isinstance(whole, ast.BinOp)
        and isinstance(whole.op, ast.Div)
        and whole.right is total
        and isinstance(whole.left, ast.Constant)
        and whole.left.value == 1
    ):
        text = f"{torch}.sigmoid({source.of(value.operand)})"
        yield from source.fix(f"write {one_line(text)}", source.replace(whole, text), safety="safe")


def _as_logsumexp(source: Source, node: ast.Call) -> Iterator[Fix]:
    """Yield logsumexp(x) for log(sum(exp(x))), if this is the inner exp."""
    for outer in source.calls("log"):
        if node in ast.walk(outer) and outer is not node:
            yield from from_logits(source, outer)
    statement = source.statement_of(node)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        for outer in source.calls("log", within=source.scope_of(node)):
            inner = operand_of(source, outer)
            if isinstance(target, ast.Name) and inner is not None and target.id in source.of(inner):
                yield from from_logits(source, outer)


def _shifted(source: Source, node: ast.Call) -> Iterator[Fix]:
    """Yield exp(x - max(x)) in a softmax written by hand; elsewhere it would change the result."""
    statement, value = source.statement_of(node), operand_of(source, node)
    if not isinstance(statement, ast.Assign) or statement.value is not node or value is None:
        return
    name = source.of(statement.targets[0])
    for division in ast.walk(source.scope_of(node)):
        if not isinstance(division, ast.BinOp) or not isinstance(division.op, ast.Div):
            continue
        total = division.right
        if (
            source.of(division.left) != name
            or word_of(total) != "sum"
            or not isinstance(total, ast.Call)
        ):
            continue
        summed, dimension = operand_of(source, total), keyword(total, "dim", "axis")
        if summed is None or source.of(summed) != name or dimension is None:
            continue
        text = in_brackets(source.of(value), value)
        shifted = f"{text} - {text}.amax(dim={source.of(dimension)}, keepdim=True)"
        edit = source.replace(value, shifted)
        if is_method(source, node):
            edit = Edit(*source.in_own_brackets(value), f"({shifted})")
        yield from source.fix(
            f"subtract the largest exponent first: {one_line(shifted)}", edit, safety="safe"
        )


def _bounded_where_made(source: Source, node: ast.expr | None) -> Iterator[Fix]:
    """Yield a clamp right after the assignment of the exponent, so that it covers every use of the name."""
    value = None if node is None else operand_of(source, node)
    modules = module_names(source)
    names = sorted(names_in(value) - modules) if value is not None else []
    if (
        value is None
        or len(names) != 1
        or any(isinstance(part, ast.Call) for part in ast.walk(value))
    ):
        return
    made = assignments(names[0], within=source.scope_of(value))
    if len(made) == 1 and isinstance(made[0], ast.Assign):
        text = f"{names[0]} = {names[0]}.clamp(max={MILD_EXPONENT})"
        yield from source.fix(
            f"clamp it where it is assigned: {text}",
            source.insert_after(made[0], text),
            hides=True,
        )
