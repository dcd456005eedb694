"""The loop around a statement, as far as it matters for running its body a second time."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchwhy.plain_data import dataclass

Loop = ast.For | ast.While
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True)
class RepeatableLoop:
    """The lines of a loop's parts; `counters` are the variables that its body has increased, and by how much.

    `carried` are the variables that the body reads before it writes them, counters excepted: a second run of the body
    finds other values in them.
    """

    header: range
    first: range
    body: range
    guarded: tuple[range, ...]
    counters: dict[str, int]
    carried: frozenset[str]

    def may_leave(self, line: int) -> bool:
        """Tell whether execution may be moved from this line: no `with` or `try` is open there."""
        inside = line in self.body or line in self.header
        return inside and not any(line in guarded for guarded in self.guarded)


def loop_around(scope: ast.AST, line: int) -> RepeatableLoop | None:
    """Return the innermost loop of a function or module whose body holds a line; None if that is on one line."""
    loop = None
    for node in _statements(scope):
        if isinstance(node, Loop) and line in _lines(node.body):
            loop = node
    if loop is None:
        return None
    header_end = loop.iter if isinstance(loop, ast.For) else loop.test
    header = range(loop.lineno, (header_end.end_lineno or loop.lineno) + 1)
    body = _lines(loop.body)
    if body.start < header.stop:
        return None
    before = [statement for statement in loop.body if statement.lineno <= line]
    counters = dict(_counters(before, line))
    return RepeatableLoop(
        header=header,
        first=_lines(loop.body[:1]),
        body=body,
        guarded=tuple(_guarded(loop.body)),
        counters=counters,
        carried=_carried(before) - counters.keys(),
    )


def _lines(statements: list[ast.stmt]) -> range:
    first, last = statements[0], statements[-1]
    begins = min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", []))])
    return range(begins, (last.end_lineno or last.lineno) + 1)


def _statements(scope: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a scope, outer ones first; not those of functions inside."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, SCOPES):
            yield from _statements(node)


def _guarded(statements: Iterable[ast.stmt]) -> Iterator[range]:
    for statement in statements:
        for node in (statement, *_statements(statement)):
            if (
                isinstance(node, (ast.With, ast.AsyncWith, ast.Try))
                or type(node).__name__ == "TryStar"
            ):
                yield _lines([node])


def _counters(statements: Iterable[ast.stmt], line: int) -> Iterator[tuple[str, int]]:
    """Yield the names that are increased once, by a whole number, before a line."""
    seen: dict[str, list[int]] = {}
    for statement in statements:
        if not isinstance(statement, ast.AugAssign) or statement.lineno >= line:
            continue
        target, value = statement.target, statement.value
        if (
            isinstance(target, ast.Name)
            and isinstance(value, ast.Constant)
            and type(value.value) is int
        ):
            sign = {ast.Add: 1, ast.Sub: -1}.get(type(statement.op), 0)
            seen.setdefault(target.id, []).append(sign * value.value)
    yield from ((name, steps[0]) for name, steps in seen.items() if len(steps) == 1 and steps[0])


def _carried(statements: Iterable[ast.stmt]) -> frozenset[str]:
    written: set[str] = set()
    read_first: set[str] = set()
    for statement in statements:
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        loads = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            loads.add(statement.target.id)
        read_first |= loads - written
        written |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return frozenset(read_first & written)
