"""Edits of where the program creates its optimizer: after it has replaced layers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchwhy.detect.fixes.training.loops import block_of
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.bindings import names_in
from torchwhy.source.edits import Source


def build_optimizer_last(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the optimizer's statement moved to just before the training loop, after layers are replaced."""
    line = place.line if place is not None else 0
    made = source.statement_at(line)
    if made is None:
        return
    block = block_of(source, made)
    later = block[block.index(made) + 1 :]
    loops = [
        statement
        for statement in later
        if any(True for _ in source.calls("backward", within=statement))
    ]
    if not loops:
        yield from _built_after_changes(source, made, later)
        return
    if loops[0] is later[0]:
        return
    title = "create the optimizer after the model is complete"
    text = source.of(made)
    for name in (None, *_copies(source, made, later[: later.index(loops[0])])):
        if name is not None:
            text = re.sub(r"\b\w+\.parameters\(\)", f"{name}.parameters()", text)
        yield from source.fix(title, source.remove(made), source.insert_before(loops[0], text))


def _built_after_changes(source: Source, made: ast.stmt, later: list[ast.stmt]) -> Iterator[Fix]:
    """Yield the optimizer created after the last statement that changes its arguments, if no loop follows."""
    given = names_in(made)
    changing = [
        statement
        for statement in later
        if names_in(statement) & given and not isinstance(statement, ast.Return)
    ]
    if changing:
        yield from source.fix(
            "create the optimizer after the model is complete",
            source.remove(made),
            source.insert_after(changing[-1], source.of(made)),
        )


def _copies(source: Source, made: ast.stmt, later: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that later statements assign from the optimizer's arguments."""
    given = names_in(made)
    for statement in later:
        if isinstance(statement, ast.Assign) and names_in(statement.value) & given:
            yield from (
                source.of(target) for target in statement.targets if isinstance(target, ast.Name)
            )


def initialised(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `super().__init__()` as the first line of the `__init__` that lacks it."""
    statement = None if place is None else source.statement_at(place.line)
    scope = None if statement is None else source.scope_of(statement)
    if isinstance(scope, ast.FunctionDef) and scope.name == "__init__":
        text = "super().__init__()"
        yield from source.fix(f"call {text} first", source.insert_before(scope.body[0], text))
