"""Edits of initial weights and of the scale of inputs and targets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.fixes.models.modules import rewritten_after
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.bindings import value_of_name
from torchwhy.source.calls import operand_of, torch_name, word_of
from torchwhy.source.edits import Source

FILLED = ("fill_", "zero_")
INITIALISERS = ("normal_", "zeros_", "ones_", "constant_", "uniform_", "trunc_normal_")


def better(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the program without the initialisation at a place, and with one that fits the layer's size."""
    line = place.line if place is not None else 0
    torch = torch_name(source)
    for call in source.calls(*INITIALISERS, *FILLED):
        statement = source.statement_of(call)
        if call.lineno != line or not isinstance(statement, ast.Expr):
            continue
        value = operand_of(source, call)
        if value is None:
            continue
        yield from source.fix("keep the layer's own initial weights", source.without(statement))
        word, text = word_of(call), source.of(value)
        if word in FILLED:
            yield from _drawn_where_filled(source, call)
        elif torch is not None:
            function = source.of(call.func).removesuffix(word or "") + "xavier_uniform_"
            yield from source.fix(f"use {function}", source.replace(call, f"{function}({text})"))


def _drawn_where_filled(source: Source, call: ast.Call) -> Iterator[Fix]:
    """Yield the program without all fills of weights in one scope: one that stays would hide the effect."""
    fills = [
        statement
        for one in source.calls(*FILLED, within=source.scope_of(call))
        if ".weight" in source.of(one.func)
        and isinstance(statement := source.statement_of(one), ast.Expr)
    ]
    if len(fills) > 1:
        edits = [source.without(statement) for statement in fills]
        yield from source.fix("keep the layers' own initial weights", *edits)


def scaled_inputs(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the inputs standardised where they are assigned, or in the call of the model."""
    node = source.at(place)
    if not isinstance(node, ast.Call) or not node.args:
        return
    text = "{0} = ({0} - {0}.mean(dim=0)) / ({0}.std(dim=0) + 1e-8)"
    yield from rewritten_after(source, node.args[0], text)
    given = node.args[0]
    if isinstance(given, ast.Name):
        written = text.format(given.id).partition(" = ")[2]
        yield from source.fix(f"pass the model {written}", source.replace(given, written))


def scaled_targets(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the targets standardised where they are assigned: a loss's second operand, or a side of a difference."""
    text = "{0} = ({0} - {0}.mean()) / ({0}.std() + 1e-8)"
    for name in _targets(source, source.at(place)):
        yield from rewritten_after(source, name, text)


def _targets(source: Source, node: ast.expr | None) -> Iterator[ast.Name]:
    parts = [] if node is None else list(ast.walk(node))
    values = [value_of_name(source, part) for part in parts if isinstance(part, ast.Name)]
    for part in [
        *parts,
        *(inner for value in values if value is not None for inner in ast.walk(value)),
    ]:
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub):
            yield from (side for side in (part.right, part.left) if isinstance(side, ast.Name))
        elif (
            isinstance(part, ast.Call)
            and len(part.args) == 2
            and isinstance(part.args[1], ast.Name)
        ):
            yield part.args[1]
