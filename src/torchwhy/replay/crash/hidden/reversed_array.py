"""A NumPy array that is read backwards: which expression turned it round?"""

from __future__ import annotations

import ast
from types import FunctionType

from torchwhy.observe.torch_features.loader_parts import dataset_of
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden import program_text
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts, line_of, user_frames

TURNING = ("flip", "fliplr", "flipud", "rot90")


def look(frames: list[TracebackFrame], hidden: HiddenFacts) -> HiddenFacts:
    """Note the place `turned`: in the failing line, in what made its operands, or in the dataset's methods."""
    users = user_frames(frames)
    found = None
    if users:
        code = users[0].code
        scope = program_text.scope_of(code)
        found = _behind(users[0], scope) if scope is not None else None
        if found is not None:
            hidden.places["turned"] = program_text.span(found, code.co_filename, code.co_name)
            return hidden
    for function in _dataset_methods(frames):
        scope = program_text.scope_of(function.__code__)
        for node in program_text.inside(scope) if scope is not None else ():
            if is_turning(node):
                hidden.places["turned"] = program_text.span(
                    node, function.__code__.co_filename, function.__code__.co_name
                )
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
            name = program_text.reference(part)
            if name is None or name in seen:
                continue
            seen.add(name)
            made = program_text.last_assignment(scope, name, line)
            if made is not None and made[1] is not None:
                waiting.append((made[1], program_text.line_at(made[0])))
        first = False
    return None


def _in_file(scope: ast.AST, part: ast.AST, line: int) -> ast.AST:
    """Return the node of the file that an expression parsed on its own stands for; it has other line numbers."""
    text = program_text.text_of(part)
    same = [
        node
        for node in program_text.inside(scope)
        if program_text.covers(node, line) and is_turning(node)
    ]
    return next(
        (node for node in same if program_text.text_of(node) == text), same[0] if same else part
    )


def _dataset_methods(frames: list[TracebackFrame]) -> list[FunctionType]:
    for frame in frames:
        dataset = dataset_of(frame.variables.get("self"))
        if dataset is not None:
            return [
                value for value in vars(type(dataset)).values() if isinstance(value, FunctionType)
            ]
    return []
