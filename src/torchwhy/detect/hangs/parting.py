"""The statement at which two processes took different ways through the same function."""

from __future__ import annotations

import ast
from typing import Literal

from torchwhy.detect.hangs.standing_places import users_frames
from torchwhy.plain_data import dataclass
from torchwhy.record.standing.stack_file import Frame
from torchwhy.record.standing.standstill import Standing, Standstill

Loop = (ast.For, ast.AsyncFor, ast.While)
Branching = (ast.If, ast.Try, ast.Match)
Way = Literal["inside", "header", "after", "before"]


@dataclass(frozen=True)
class Parting:
    """A branch of which one process is in one part and the other in another, or a loop that one has left."""

    file: str
    line: int
    text: str
    is_loop: bool


def parting_of(one: Standing, other: Standing, standstill: Standstill) -> Parting | None:
    """Return where two processes part; None if their stacks and the text do not show it."""
    pair = _first_difference(users_frames(one.frames), users_frames(other.frames))
    if pair is None:
        return None
    file, lines = pair[0].file, (pair[0].line, pair[1].line)
    text = standstill.texts.get(file, "")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    node = _parting_node(tree, lines)
    if node is None:
        return None
    header = text.splitlines()[node.lineno - 1].strip()
    return Parting(file, node.lineno, header, isinstance(node, Loop))


def _first_difference(
    one: tuple[Frame, ...], other: tuple[Frame, ...]
) -> tuple[Frame, Frame] | None:
    """Return the outermost frames of the same function that stand at different lines."""
    for mine, theirs in zip(reversed(one), reversed(other), strict=False):
        if (mine.file, mine.function) != (theirs.file, theirs.function):
            return None
        if mine.line != theirs.line:
            return mine, theirs
    return None


def _parting_node(tree: ast.Module, lines: tuple[int, int]) -> ast.stmt | None:
    """Return the outermost branch or loop in which exactly one way is taken by each line."""
    nodes: list[ast.stmt] = [
        node for node in ast.walk(tree) if isinstance(node, (*Loop, *Branching))
    ]
    nodes.sort(key=lambda node: node.lineno)
    for node in nodes:
        if isinstance(node, Loop):
            if _is_left_by_one(node, lines) and not _share_a_loop(nodes, node, lines):
                return node
        elif _is_taken_differently(node, lines) and (
            all(map(_holds(node), lines)) or not _share_a_loop(nodes, node, lines)
        ):
            return node
    return None


def _is_left_by_one(node: ast.stmt, lines: tuple[int, int]) -> bool:
    inside = [line for line in lines if _holds(node)(line)]
    outside = [line for line in lines if not _holds(node)(line)]
    return len(inside) == len(outside) == 1 and outside[0] > (node.end_lineno or 0)


def _is_taken_differently(node: ast.stmt, lines: tuple[int, int]) -> bool:
    """Tell whether the lines are in two parts of a branch, or one is in a part and the other after the branch."""
    parts = [_part(node, line) for line in lines]
    if parts[0] == parts[1] or "header" in parts:
        return False
    outside = [line for line, part in zip(lines, parts, strict=True) if part is None]
    return all(line > (node.end_lineno or 0) for line in outside)


def _part(node: ast.stmt, line: int) -> str | None:
    """Return the name of the part of a branch that a line is in; None outside."""
    if not _holds(node)(line):
        return None
    for name, value in ast.iter_fields(node):
        blocks = value if isinstance(value, list) else []
        for place, block in enumerate(blocks):
            if isinstance(block, ast.AST) and _holds(block)(line):
                whole = isinstance(block, (ast.ExceptHandler, ast.match_case))
                return f"{name}{place}" if whole else name
    return "header"


def _share_a_loop(nodes: list[ast.stmt], inner: ast.stmt, lines: tuple[int, int]) -> bool:
    """Tell whether a loop holds both lines: then the later line may belong to an earlier turn."""
    return any(
        isinstance(node, Loop) and node is not inner and all(map(_holds(node), lines))
        for node in nodes
    )


class _Holds:
    """Tells whether a line is in a piece of syntax."""

    def __init__(self, node: ast.AST) -> None:
        body = getattr(node, "body", None)
        first = getattr(node, "pattern", node)  # A case has no line of its own.
        last = body[-1] if isinstance(node, ast.match_case) and body else node
        self._first: int = getattr(first, "lineno", 0)
        self._last: int = getattr(last, "end_lineno", None) or 0

    def __call__(self, line: int) -> bool:
        return self._first <= line <= self._last


_holds = _Holds
