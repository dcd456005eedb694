"""How the source makes an average: what a statement adds up, and what the sum is divided by later. Reads, never runs.

Only plain forms are read: `correct += (guess == y).sum().item()` … `correct / len(loader)`. All else gives None.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal, Protocol

from torchwhy.plain_data import dataclass
from torchwhy.source.edits import Source
from torchwhy.source.scopes import FUNCTIONS, LOOPS
from torchwhy.source.values import without_casts

Kind = Literal["count", "mean", "loss"]

DEEPEST = 3  # names followed to their assignment
PER_CENT = 100


class Values(Protocol):
    """What is known of the values that expressions have while the program runs."""

    def is_mean_loss(self, call: ast.Call) -> bool:
        """Tell whether a call gives the mean loss of a batch."""
        ...

    def is_tensor(self, node: ast.expr) -> bool:
        """Tell whether an expression names a tensor."""
        ...


@dataclass(frozen=True)
class Average:
    """A variable that sums something up in a loop, and one place that divides it."""

    variable: str
    kind: Kind
    added: ast.stmt
    loop: ast.For
    division: ast.expr | ast.stmt
    divisors: tuple[ast.expr, ...]


def averages_at(source: Source, line: int, values: Values) -> Iterator[Average]:
    """Yield the averages that the number read in one line goes into."""
    statement = _statement_at(source, line)
    if statement is None:
        return
    function = source.function_of(statement)
    for added, variable, value in _sums(source, function):
        loop = next(iter(source.loops_of(added)), None)
        if not isinstance(loop, ast.For) or not _uses(added, value, statement):
            continue
        kind = kind_of(value, function, values)
        if kind is None:
            continue
        for division, divisors in _divisions(source, function, variable):
            if _is_begun_anew(function, variable, loop, division):
                continue
            if not _is_meant_per_batch(source, division):
                yield Average(variable, kind, added, loop, division, divisors)


@dataclass(frozen=True)
class Overwritten:
    """A variable that a loop assigns anew, and that is divided like a sum of the same loop."""

    variable: str
    other: str
    divisor: str
    assigned: ast.Assign


def overwritten_at(source: Source, line: int) -> Overwritten | None:
    """Return the variable that the loop around a line should add to and assigns instead.

    It begins at 0 before the loop, a comparison gives its value, nothing in the loop reads it, and after the loop it is
    divided by what a sum of the same loop is divided by.
    """
    statement = source.statement_at(line)
    loop = next(iter(source.loops_of(statement)), None) if statement is not None else None
    if not isinstance(loop, ast.For):
        return None
    function = source.function_of(loop)
    sums = {name for added, name, _ in _sums(source, function) if loop in source.around(added)}
    shared = {
        name: {ast.unparse(one) for _, given in _divisions(source, function, name) for one in given}
        for name in sums
    }
    for node in loop.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if not isinstance(node, ast.Assign) or not isinstance(target, ast.Name):
            continue
        if not any(isinstance(part, ast.Compare) for part in ast.walk(node.value)):
            continue  # A call may return a running total.
        name = target.id
        if name in sums or not _begins_at_zero(function, name, loop):
            continue
        if any(_reads(part, name) for part in loop.body):
            continue
        for division, divisors in _divisions(source, function, name):
            own = ast.unparse(divisors[0])
            other = next((one for one, given in shared.items() if own in given), None)
            if other is not None and division.lineno > (loop.end_lineno or loop.lineno):
                return Overwritten(name, other, f"`{own}`", node)
    return None


def _reads(part: ast.stmt, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for node in ast.walk(part)
    )


def _begins_at_zero(function: ast.AST, name: str, loop: ast.For) -> bool:
    """Tell whether the last assignment of a name before a loop gives it 0."""
    before = [
        (target, value)
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and node.lineno < loop.lineno
        for target, value in _pairs(node)
        if isinstance(target, ast.Name) and target.id == name
    ]
    value = before[-1][1] if before else None
    return isinstance(value, ast.Constant) and value.value == 0


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """Return the targets of an assignment with their values: two for `a, b = 0, 0`."""
    found = []
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            found += list(zip(target.elts, node.value.elts, strict=False))
        else:
            found.append((target, node.value))
    return found


def _is_begun_anew(
    function: ast.AST, variable: str, loop: ast.For, division: ast.expr | ast.stmt
) -> bool:
    """Tell whether a division is of another sum under the same name: before the loop, or after a fresh start."""
    if division.lineno < loop.lineno:
        return True
    end = loop.end_lineno or loop.lineno
    return any(
        isinstance(node, ast.Assign)
        and end < node.lineno < division.lineno
        and any(variable in _names(target) for target in node.targets)
        for node in ast.walk(function)
    )


def _names(target: ast.expr) -> list[str]:
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return [ast.unparse(part) for part in parts]


def _is_meant_per_batch(source: Source, division: ast.expr | ast.stmt) -> bool:
    """Tell whether the program itself says that a number is one of a batch: by the name it gets, or in print."""
    around = (division, *source.around(division))
    statement = next((node for node in around if isinstance(node, ast.stmt)), None)
    if statement is None:
        return False
    targets = [*getattr(statement, "targets", ()), getattr(statement, "target", None)]
    words = [ast.unparse(target) for target in targets if target is not None]
    words += [
        node.value
        for node in ast.walk(statement)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return any("batch" in word.lower() for word in words)


def _statement_at(source: Source, line: int) -> ast.stmt | None:
    kinds = (ast.Assign, ast.AugAssign, ast.AnnAssign)
    return next(
        (
            node
            for node in ast.walk(source.tree)
            if isinstance(node, kinds) and node.lineno <= line <= (node.end_lineno or node.lineno)
        ),
        None,
    )


def _sums(source: Source, function: ast.AST) -> Iterator[tuple[ast.stmt, str, ast.expr]]:
    """Yield the statements of a function that add to a variable: the statement, the variable, what is added."""
    for node in ast.walk(function):
        if source.function_of(node) is not function:
            continue
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            yield node, ast.unparse(node.target), node.value
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
            target, value = ast.unparse(node.targets[0]), node.value
            if isinstance(value.op, ast.Add) and ast.unparse(value.left) == target:
                yield node, target, value.right


def _uses(added: ast.stmt, value: ast.expr, statement: ast.stmt) -> bool:
    """Tell whether the number read in a statement is what another adds: the same, or one that names its result."""
    if added is statement:
        return True
    bare = without_casts(value)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(ast.unparse(target) == ast.unparse(bare) for target in targets)


def kind_of(node: ast.expr, function: ast.AST, values: Values, depth: int = DEEPEST) -> Kind | None:
    """Return what a number is: how many were right, a mean of that over a batch, a mean loss; None for others."""
    bare = without_casts(node)
    if isinstance(bare, ast.Name) and depth:
        value = _assigned(bare.id, function)
        return kind_of(value, function, values, depth - 1) if value is not None else None
    if isinstance(bare, ast.BinOp) and isinstance(bare.op, ast.Div):
        counted = kind_of(bare.left, function, values, depth) == "count"
        return "mean" if counted and _is_size_of_batch(bare.right, values) else None
    if not isinstance(bare, ast.Call):
        return None
    reduced = _reduced(bare)
    if reduced is not None:
        name, operand = reduced
        if not _is_equality(operand, function, depth):
            return None
        return "count" if name == "sum" else "mean"
    return "loss" if values.is_mean_loss(bare) else None


def _reduced(call: ast.Call) -> tuple[str, ast.expr] | None:
    """Return `sum` or `mean` and what it is taken of, for a reduction to one number."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr not in ("sum", "mean"):
        return None
    if isinstance(function.value, ast.Name) and function.value.id in ("torch", "np", "numpy"):
        return (function.attr, call.args[0]) if len(call.args) == 1 and not call.keywords else None
    return (function.attr, function.value) if not call.args and not call.keywords else None


def _is_equality(node: ast.expr, function: ast.AST, depth: int) -> bool:
    bare = without_casts(node)
    if isinstance(bare, ast.Name) and depth:
        value = _assigned(bare.id, function)
        return value is not None and _is_equality(value, function, depth - 1)
    if isinstance(bare, ast.Compare):
        return len(bare.ops) == 1 and isinstance(bare.ops[0], ast.Eq)
    return (
        isinstance(bare, ast.Call)
        and isinstance(bare.func, ast.Attribute)
        and bare.func.attr == "eq"
    )


def _is_size_of_batch(node: ast.expr, values: Values) -> bool:
    """Tell whether an expression is `len(y)`, `y.size(0)`, `y.shape[0]` or `y.numel()` of a tensor."""
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Name) and function.id == "len" and len(node.args) == 1:
            return values.is_tensor(node.args[0])
        return isinstance(function, ast.Attribute) and function.attr in ("size", "numel")
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "shape"
    )


def _assigned(name: str, function: ast.AST) -> ast.expr | None:
    """Return what a name stands for, if it is assigned once."""
    values = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    ]
    return values[0] if len(values) == 1 else None


def _divisions(
    source: Source, function: ast.AST, variable: str
) -> Iterator[tuple[ast.expr | ast.stmt, tuple[ast.expr, ...]]]:
    """Yield where a variable is divided, with all that it is divided by there."""
    for node in ast.walk(function):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            if ast.unparse(node.target) == variable:
                yield node, (node.value,)
        elif (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Div)
            and ast.unparse(_without_per_cent(node.left)) == variable
        ):
            yield _whole_division(source, node)


def _whole_division(source: Source, division: ast.BinOp) -> tuple[ast.expr, tuple[ast.expr, ...]]:
    """Return `a / b / c` for `a / b`, with `b` and `c`."""
    divisors = [division.right]
    while True:
        outer = source.parents.get(division)
        if not isinstance(outer, ast.BinOp) or outer.left is not division:
            return division, tuple(divisors)
        if isinstance(outer.op, ast.Div):
            divisors.append(outer.right)
        elif not isinstance(outer.op, ast.Mult) or not _is_per_cent(outer.right):
            return division, tuple(divisors)
        division = outer


def _without_per_cent(node: ast.expr) -> ast.expr:
    bare = without_casts(node)
    if isinstance(bare, ast.BinOp) and isinstance(bare.op, ast.Mult):
        if _is_per_cent(bare.left):
            return without_casts(bare.right)
        if _is_per_cent(bare.right):
            return without_casts(bare.left)
    return bare


def _is_per_cent(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == PER_CENT


def counter_step(function: ast.AST, loop: ast.AST, name: str) -> ast.expr | None:
    """Return what a loop adds to a variable each time, if it does so once."""
    found = [
        node.value
        for node in ast.walk(loop)
        if isinstance(node, ast.AugAssign)
        and isinstance(node.op, ast.Add)
        and ast.unparse(node.target) == name
    ]
    changed = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.AugAssign) and ast.unparse(node.target) == name
    ]
    return found[0] if len(found) == len(changed) == 1 else None


def is_in_inner_loop(source: Source, node: ast.AST, loop: ast.AST) -> bool:
    """Tell whether a statement runs more than once for each turn of a loop, or in a function of its own."""
    for outer in source.around(node):
        if outer is loop:
            return False
        if isinstance(outer, (*LOOPS, *FUNCTIONS)):
            return True
    return True
