"""Finds comparisons in an evaluation whose operands torch spreads over each other: (n, 1) with (n).

Their shapes are looked up in the frame that reads a number, in which the operands still are.
"""

from __future__ import annotations

import ast
from types import FrameType

import torch

from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.recorder import Recorder
from torchwhy.record.learning import ComparedAll
from torchwhy.source.edits import Source
from torchwhy.source.files import loaded
from torchwhy.source.values import CASTS, look_up, stored_attribute

MOST_PLACES = 16
COUNTS = {"sum", "mean"}
CHOICES = {"argmax", "round", "sign", "gt", "ge", "indices"}
UNKNOWN = -(2**62)  # a bound that is no number in the text


class Comparisons:
    """Looks at the comparisons around the first number that each place reads."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._looked: set[Site] = set()
        self._told: set[int] = set()

    def look(self, site: Site, frame: FrameType, step: int) -> None:
        """Record each comparison of every prediction with every label in the function that reads a number."""
        if site in self._looked or len(self._looked) >= MOST_PLACES:
            return
        self._looked.add(site)
        source = loaded(site.code.co_filename)
        statement = source.statement_at(span_of(site).line) if source is not None else None
        if source is None or statement is None:
            return
        function = source.function_of(statement)
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Compare)
                and [type(op) for op in node.ops] == [ast.Eq]
                and source.function_of(node) is function
                and _is_counted(source, node)
            ):
                self._compare(source, node, frame, step)

    def _compare(self, source: Source, node: ast.Compare, frame: FrameType, step: int) -> None:
        sides = (node.left, node.comparators[0])
        names = {**frame.f_globals, **borrowed_locals(frame)}
        shapes = [_shape_of(side, names) for side in sides]
        if node.lineno in self._told or not _spreads(shapes[0], shapes[1]):
            return
        column = sides[0] if len(shapes[0] or []) > len(shapes[1] or []) else sides[1]
        if not _is_prediction(source.function_of(node), column):
            return
        self._told.add(node.lineno)
        self._recorder.write(
            ComparedAll(
                step=step,
                operands=[source.of(side) for side in sides],
                shapes=[shape or [] for shape in shapes],
                location=source.span(node),
            )
        )


def _is_prediction(function: ast.AST, side: ast.expr) -> bool:
    """Tell whether a function makes a variable by a threshold or a choice; columns of labels may be paired with all."""
    return any(
        isinstance(part, ast.Compare) or (isinstance(part, ast.Attribute) and part.attr in CHOICES)
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(side, ast.Name)
        if any(isinstance(one, ast.Name) and one.id == side.id for one in node.targets)
        for part in ast.walk(node.value)
    )


def _is_counted(source: Source, node: ast.expr) -> bool:
    """Tell whether a result becomes one number at once: `(a == b).float().mean()`. A mask may be meant as it is."""
    around = source.parents.get(node)
    call = source.parents.get(around) if isinstance(around, ast.Attribute) else None
    if not isinstance(around, ast.Attribute) or not isinstance(call, ast.Call) or call.args:
        return False
    return around.attr in COUNTS or (around.attr in CASTS and _is_counted(source, call))


def _shape_of(node: ast.expr, names: dict[str, object]) -> list[int] | None:
    """Return the shape of a tensor that a name or a chain of attributes holds, or of a slice of its rows."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        whole = _shape_of(node.value, names)
        given = [_bound(one) for one in (node.slice.lower, node.slice.upper, node.slice.step)]
        if not whole or UNKNOWN in given:
            return None
        return [len(range(whole[0])[slice(*given)]), *whole[1:]]
    value = look_up(node, names, attribute=stored_attribute)
    return list(value.shape) if isinstance(value, torch.Tensor) else None


def _bound(node: ast.expr | None) -> int | None:
    """Return the bound of a slice, None for none."""
    if node is None:
        return None
    is_number = isinstance(node, ast.Constant) and type(node.value) is int
    return node.value if isinstance(node, ast.Constant) and is_number else UNKNOWN  # type: ignore[return-value]


def _spreads(one: list[int] | None, other: list[int] | None) -> bool:
    """Tell whether a column meets a row of the same length, so that each element meets each of the other."""
    if one is None or other is None:
        return False
    column, row = (one, other) if len(one) > len(other) else (other, one)
    return len(column) == 2 and len(row) == 1 and column == [row[0], 1] and row[0] > 1
