"""Edits of a loss whose gradients add up over several backward passes: its share of their number."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.fixes.training.loops import LOOPS, backwards
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.edits import Source, in_brackets
from torchwhy.source.scopes import enclosing


def divided(place: SourceSpan | None, source: Source, *, passes: int) -> Iterator[Fix]:
    """Yield `(loss / n).backward()` for n passes before each step; nothing for a single pass."""
    if passes < 2:
        return
    for _, statement in backwards(place, source):
        call = next(source.calls("backward", within=statement), None)
        if call is None or not isinstance(call.func, ast.Attribute):
            continue
        loss = call.func.value
        if isinstance(loss, ast.Call) and len(loss.args) == 1:  # scaler.scale(loss).backward()
            loss = loss.args[0]
            text = f"{in_brackets(source.of(loss), loss)} / {_number(source, statement, passes)}"
        else:
            text = f"({in_brackets(source.of(loss), loss)} / {_number(source, statement, passes)})"
        title = f"divide the loss by the number of passes before a step: {text}"
        yield from source.fix(title, source.replace(loss, text))
        return


def _number(source: Source, statement: ast.stmt, passes: int) -> str:
    """Return how the program writes the number of passes: `n` of `if (i + 1) % n == 0`; else the number itself."""
    loop = enclosing(source, statement, *LOOPS)
    written = {
        source.of(node.right)
        for condition in (ast.walk(loop) if loop is not None else ())
        if isinstance(condition, ast.If)
        and any(True for _ in source.calls("step", within=condition))
        for node in ast.walk(condition.test)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
    }
    return written.pop() if len(written) == 1 else str(passes)
