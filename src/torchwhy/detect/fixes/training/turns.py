"""Edits for a step between two losses: the second loss needs weights that the step has changed.

Moving the step behind the second backward pass would add that loss's gradients to it, so the second loss is computed
after the step, or from values without a graph.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchwhy.detect.fixes.training.loops import block_of, with_comment
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.bindings import names_in
from torchwhy.source.edits import Source

MOST_SHARED = 3  # Of the values that two losses share, the ones computed last are tried.


def second_loss_apart(place: SourceSpan | None, source: Source, *, call: str) -> Iterator[Fix]:
    """Yield the loss of `call`, a backward pass after the step at the place, computed after that step or detached."""
    step = None if place is None else source.statement_at(place.line)
    block = [] if step is None else block_of(source, step)
    if step is None or step not in block:
        return
    before = block[: block.index(step)]
    backward = _sent(source, block[block.index(step) + 1 :], call)
    if backward is None:
        return
    statement, loss = backward
    own = _computing(before, loss)
    if own:
        title = f"compute {loss} after {_line(source, step)}"
        yield from source.fix(
            title,
            *(source.remove(one) for one in own),
            source.insert_before(statement, _joined(source, statement, own)),
        )
    yield from _detached(source, before, own)


def _sent(source: Source, after: Sequence[ast.stmt], call: str) -> tuple[ast.stmt, str] | None:
    """Return the statement of a backward pass among some statements, and the variable of its loss."""
    for statement in after:
        for node in ast.walk(statement):
            sends = isinstance(node, ast.Call) and " ".join(source.of(node).split()) == call
            if sends and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                loss = node.func.value
                return (statement, loss.id) if isinstance(loss, ast.Name) else None
    return None


def _computing(before: Sequence[ast.stmt], loss: str) -> list[ast.stmt]:
    """Return the statements that compute a loss and nothing else, in order."""
    own: list[ast.stmt] = []
    needed = {loss}
    for statement in reversed(before):
        made = _made_by(statement)
        others = [one for one in before if one not in own and one is not statement]
        is_shared = any(made & names_in(one) for one in others if one.lineno > statement.lineno)
        if made and made <= needed and not is_shared:
            own.insert(0, statement)
            needed |= names_in(statement)
    return own if any(loss in _made_by(one) for one in own) else []


def _made_by(statement: ast.stmt) -> set[str]:
    """Return the variables that an assignment makes anew; nothing for other statements."""
    if not isinstance(statement, ast.Assign):
        return set()
    names = {
        node.id
        for target in statement.targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name)
    }
    return names - names_in(statement.value)


def _detached(source: Source, before: Sequence[ast.stmt], own: Sequence[ast.stmt]) -> Iterator[Fix]:
    """Yield a value that both losses use, detached for the second."""
    shared = [name for one in before if one not in own for name in sorted(_made_by(one))]
    for name in reversed(shared[-MOST_SHARED:]):
        places = [
            node
            for statement in own
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        ]
        if places:
            edits = [source.replace(node, f"{name}.detach()") for node in places]
            yield from source.fix(f"use {name}.detach() for the second loss", *edits)


def _joined(source: Source, goal: ast.stmt, statements: Sequence[ast.stmt]) -> str:
    start = source.line_starts[goal.lineno - 1]
    margin = source.text[start : source.stretch(goal)[0]]
    return f"\n{margin}".join(with_comment(source, one) for one in statements)


def _line(source: Source, statement: ast.stmt) -> str:
    return source.of(statement).splitlines()[0]
