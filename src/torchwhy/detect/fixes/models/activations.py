"""Edits of hidden activations: those that pass their gradient on replace those that do not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.fixes.models.modules import other_function
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.analyses.written_numbers import written
from torchwhy.source.calls import operand_of, torch_name, word_of
from torchwhy.source.edits import Edit, Source

SQUASHERS = ("sigmoid", "tanh")


def rectified(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield relu instead of sigmoid or tanh: in the whole function, at the place, in all layers."""
    node = source.at(place)
    line = place.line if place is not None else 0
    statement = source.statement_at(line)
    scope = None if statement is None else source.scope_of(statement)
    together: list[Edit] = []
    for call in (
        source.calls(*SQUASHERS, within=scope) if isinstance(scope, ast.FunctionDef) else ()
    ):
        function, word = source.of(call.func), word_of(call) or ""
        together.append(source.replace(call.func, function.removesuffix(word) + "relu"))
    if len(together) > 1:
        yield from source.fix("use relu in all hidden layers", *together)
    yield from other_function(place, source, dict.fromkeys(SQUASHERS, "relu"))
    if node is not None:
        yield from _layers(source, ("Sigmoid", "Tanh"), "ReLU")


def leaky(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield edits that let dead units recover: without the bias that keeps them below 0, or with a slope there."""
    for call in source.calls("constant_", "fill_"):
        statement, given = source.statement_of(call), call.args[-1] if call.args else None
        filled = written(source, given)
        target = operand_of(source, call)
        is_bias = target is not None and "bias" in source.of(target)
        if is_bias and filled is not None and filled.number < 0 and statement is not None:
            yield from source.fix("keep the layer's own initial bias", source.without(statement))
    torch = torch_name(source)
    names = {"relu": f"{torch or 'torch'}.nn.functional.leaky_relu"}
    yield from other_function(place, source, names)
    yield from _layers(source, ("ReLU",), "LeakyReLU")


def _layers(source: Source, old: tuple[str, ...], new: str) -> Iterator[Fix]:
    """Yield all layers of these kinds without arguments replaced by another kind."""
    edits = [
        source.replace(call.func, source.of(call.func).removesuffix(word_of(call) or "") + new)
        for call in source.calls(*old)
        if not call.args
    ]
    if edits:
        yield from source.fix(f"use {new} in all hidden layers", *edits)
