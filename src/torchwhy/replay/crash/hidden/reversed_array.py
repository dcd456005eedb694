"""A NumPy array that is read backwards: which expression turned it round?"""

from __future__ import annotations

import ast
from types import FunctionType

from torchwhy.observe.torch_features.loader_parts import dataset_of
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts, line_of, user_frames
from torchwhy.source.bindings import last_binding, reference
from torchwhy.source.files import scope_of, span_in
from torchwhy.source.scopes import covers, inside, line_at
from torchwhy.source.values import text_of

TURNING = ("flip", "fliplr", "flipud", "rot90")


def look(frames: list[TracebackFrame], hidden: HiddenFacts) -> HiddenFacts:
    """Note the place `turned`: in the failing line, in what made its operands, or in the dataset's methods."""
    users = user_frames(frames)
    found = None
    if users:
        code = users[0].code
        scope = scope_of(code)
        found = _behind(users[0], scope) if scope is not None else None
        if found is not None:
            hidden.places["turned"] = span_in(code, found)
            return hidden
    for function in _dataset_methods(frames):
        scope = scope_of(function.__code__)
        for node in inside(scope) if scope is not None else ():
            if is_turning(node):
                hidden.places["turned"] = span_in(function.__code__, node)
    return hidden


def is_turning(node: ast.AST) -> bool:
    """Tell whether an expression is `a[::-1]` or `np.flip(a)`."""
    if isinstance(node, ast.Call):
        function = node.func
        return (
            function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        ) in TURNING
    if not isinstance(node, ast.Subscript):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(
        isinstance(part, ast.Slice) and part.step is not None and _is_negative(part.step)
        for part in parts
    )


def _is_negative(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _behind(frame: TracebackFrame, scope: ast.AST) -> ast.AST | None:
    """Follow the names in the failing expression back to where one of them was turned round."""
    waiting: list[tuple[ast.AST, int]] = (
        [(frame.node, line_of(frame))] if frame.node is not None else []
    )
    seen: set[str] = set()
    first = True
    while waiting:
        node, line = waiting.pop(0)
        for part in ast.walk(node):
            if is_turning(part):
                return _in_file(scope, part, line) if first else part
            name = reference(part)
            if name is None or name in seen:
                continue
            seen.add(name)
            made = last_binding(scope, name, line)
            if made is not None and made[1] is not None:
                waiting.append((made[1], line_at(made[0])))
        first = False
    return None


def _in_file(scope: ast.AST, part: ast.AST, line: int) -> ast.AST:
    """Return the node of the file that an expression parsed on its own stands for; it has other line numbers."""
    text = text_of(part)
    same = [node for node in inside(scope) if covers(node, line) and is_turning(node)]
    return next((node for node in same if text_of(node) == text), same[0] if same else part)


def _dataset_methods(frames: list[TracebackFrame]) -> list[FunctionType]:
    for frame in frames:
        dataset = dataset_of(frame.variables.get("self"))
        if dataset is not None:
            return [
                value for value in vars(type(dataset)).values() if isinstance(value, FunctionType)
            ]
    return []
