"""`try` and `suppress`: which exceptions a stretch of source takes, and what it does instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.plain_data import dataclass
from torchwhy.source.calls import called
from torchwhy.source.scopes import inside

STEP_WORDS = ("backward", "step")
# Contexts by which tests expect an exception.
EXPECTING = ("raises", "assertRaises", "assertRaisesRegex")


@dataclass(frozen=True)
class Handler:
    """What takes exceptions: their `kinds` (None: all), the statements it tries, and those it runs instead.

    `name` is the variable that the exception is bound to, `is_test` whether a test expects it.
    """

    kinds: list[ast.expr] | None
    tried: list[ast.stmt]
    instead: list[ast.stmt]
    name: str | None = None
    is_test: bool = False


def handlers_around(scope: ast.AST, line: int) -> Iterator[Handler]:
    """Yield what takes exceptions of a line, the innermost first."""
    around = [
        node
        for node in inside(scope)
        if isinstance(node, (ast.Try, ast.With))
        and node.body[0].lineno <= line <= (node.body[-1].end_lineno or line)
    ]
    for node in reversed(around):
        if isinstance(node, ast.Try):
            for clause in node.handlers:
                yield Handler(_kinds(clause.type), node.body, clause.body, clause.name)
        else:
            contexts = [item.context_expr for item in node.items]
            yield Handler([kind for one in contexts for kind in _suppressed(one)], node.body, [])
            expected = [kind for one in contexts for kind in _expected(one)]
            yield Handler(expected, node.body, [], is_test=True)


def _kinds(node: ast.expr | None) -> list[ast.expr] | None:
    if node is None:
        return None
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _suppressed(node: ast.expr) -> list[ast.expr]:
    """Return the exceptions of `contextlib.suppress(…)`."""
    is_suppress = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress")
    return node.args if is_suppress and isinstance(node, ast.Call) else []


def _expected(node: ast.expr) -> list[ast.expr]:
    """Return the exceptions of `pytest.raises(…)` and `self.assertRaises(…)`."""
    first = node.args[:1] if isinstance(node, ast.Call) and called(node) in EXPECTING else []
    return [kind for one in first for kind in _kinds(one) or []]


def tells_of_it(handler: Handler) -> bool:
    """Tell whether the program uses the exception, e.g. prints it, or a test expects it; a fallback does neither."""
    words = {
        one.id for part in handler.instead for one in ast.walk(part) if isinstance(one, ast.Name)
    }
    return handler.is_test or handler.name in words or "traceback" in words


def costs_step(handler: Handler) -> bool:
    """Tell whether the exception ends the iteration before its update, as the source has it."""
    instead = [part for statement in handler.instead for part in ast.walk(statement)]
    if any(isinstance(part, ast.Raise) for part in instead):
        return False
    if any(
        isinstance(part, (ast.Continue, ast.Break)) or _returns_nothing(part) for part in instead
    ):
        return True
    tried = [part for statement in handler.tried for part in ast.walk(statement)]
    calls = [part.func for part in tried if isinstance(part, ast.Call)]
    return any(
        isinstance(function, ast.Attribute) and function.attr in STEP_WORDS for function in calls
    )


def _returns_nothing(node: ast.AST) -> bool:
    """Tell `return` and `return None` from a fallback's `return x.reshape(-1)`."""
    return isinstance(node, ast.Return) and (
        node.value is None or isinstance(node.value, ast.Constant)
    )
