"""Edits for optimizers that do not take the gradients they get."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.calls import keyword, word_of
from torchwhy.source.edits import Source


def dense_gradients(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a table with dense gradients: `sparse=False`."""
    call = source.at(place)
    given = keyword(call, "sparse") if isinstance(call, ast.Call) else None
    if given is not None:
        yield from source.fix(
            "make the gradients of the table dense: sparse=False", source.replace(given, "False")
        )


def dense_optimizer(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `Adam` in place of `SparseAdam`."""
    call = source.at(place)
    if isinstance(call, ast.Call) and word_of(call) == "SparseAdam":
        text = source.of(call.func)
        adam = text.removesuffix("SparseAdam") + "Adam"
        if "." in text:
            yield from source.fix(f"use {adam}", source.replace(call.func, adam))
