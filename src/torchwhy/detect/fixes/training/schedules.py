"""Edits of schedules: how often they are stepped and how long they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.fixes.training.loops import LOOPS, block_of, with_comment
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.bindings import names_in, reference
from torchwhy.source.calls import keyword, word_of
from torchwhy.source.edits import Source, in_brackets
from torchwhy.source.scopes import enclosing

WRAPPERS = ("enumerate", "tqdm")  # of what a loop runs over


def step_with_optimizer(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the scheduler's step moved into the loop over batches before it, after the optimizer's step."""
    line = place.line if place is not None else 0
    moved = source.statement_at(line)
    if moved is None:
        return
    for loop in block_of(source, moved):
        steps = source.calls("step", within=loop) if isinstance(loop, LOOPS) else iter(())
        goal = next((source.statement_of(call) for call in steps), None)
        if goal is not None:
            text = with_comment(source, moved)
            title = f"call {source.of(moved)} after each {source.of(goal)}"
            yield from source.fix(title, source.remove(moved), source.insert_after(goal, text))
            return


def move_to_outer_loop(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the statement moved out of its inner loop, to after that loop."""
    line = place.line if place is not None else 0
    moved = source.statement_at(line)
    inner = None if moved is None else enclosing(source, moved, *LOOPS)
    if moved is not None and inner is None:
        yield from _moved_after_loop_of_caller(source, moved)
    if moved is None or not isinstance(inner, ast.stmt):
        return
    if enclosing(source, inner, *LOOPS) is None:
        yield from _moved_to_caller(source, moved)
        return
    title = f"move {source.of(moved)} out of the inner loop"
    text = with_comment(source, moved)
    yield from source.fix(title, source.remove(moved), source.insert_after(inner, text))


def _moved_to_caller(source: Source, moved: ast.stmt) -> Iterator[Fix]:
    """Yield a call moved out of the function for one epoch, to after the call of that function."""
    function = source.scope_of(moved)
    call = moved.value if isinstance(moved, ast.Expr) else None
    if not isinstance(function, ast.FunctionDef) or not isinstance(call, ast.Call):
        return
    if not isinstance(call.func, ast.Attribute):
        return
    name = source.of(call.func.value)
    names = [one.arg for one in function.args.args]
    for outer in source.calls(function.name):
        place = source.statement_of(outer)
        there = name
        if name in names:
            number = names.index(name) - (names[0] in ("self", "cls"))
            given = keyword(outer, name)
            if given is None and number < len(outer.args):
                given = outer.args[number]
            there = source.of(given) if given is not None else ""
        if place is None or not there or enclosing(source, outer, *LOOPS) is None:
            continue
        text = there + source.of(call)[len(name) :]
        yield from source.fix(
            f"call {text} once per epoch, after {function.name}",
            source.without(moved),
            source.insert_after(place, text),
        )


def schedule_as_long_as_training(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a schedule with as many steps as the loop that steps it."""
    statement = source.statement_at(place.line) if place is not None else None
    node = None if statement is None else next(source.calls("step", within=statement), None)
    loop = None if statement is None else enclosing(source, statement, ast.For)
    if (
        not isinstance(loop, ast.For)
        or not isinstance(loop.iter, ast.Call)
        or len(loop.iter.args) != 1
    ):
        return
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    name = source.of(node.func.value)
    for made in source.calls("LinearLR", "CosineAnnealingLR", "PolynomialLR", "OneCycleLR"):
        owner = source.statement_of(made)
        given = keyword(made, "total_iters", "T_max", "total_steps")
        if (
            given is not None
            and isinstance(owner, ast.Assign)
            and source.of(owner.targets[0]) == name
        ):
            text = source.of(loop.iter.args[0])
            title = f"make the schedule as long as the training: {text}"
            yield from source.fix(title, source.replace(given, text))


def _moved_after_loop_of_caller(source: Source, moved: ast.stmt) -> Iterator[Fix]:
    """Yield a call moved out of the function for one batch, to after the inner loop that calls that function."""
    function = source.scope_of(moved)
    call = moved.value if isinstance(moved, ast.Expr) else None
    if not isinstance(function, ast.FunctionDef) or not isinstance(call, ast.Call):
        return
    is_own = source.of(call.func).startswith("self.")
    is_given = names_in(call.func) & {one.arg for one in function.args.args} - {"self"}
    for outer in source.calls(function.name) if not is_given else ():
        owner = outer.func.value if isinstance(outer.func, ast.Attribute) else None
        inner = enclosing(source, outer, *LOOPS)
        if (owner is not None and source.of(owner) == "self") is not is_own:
            continue
        if not isinstance(inner, ast.stmt) or enclosing(source, inner, *LOOPS) is None:
            continue
        text = source.of(call)
        yield from source.fix(
            f"call {text} once per epoch, after the loop over {function.name}",
            source.without(moved),
            source.insert_after(inner, text),
        )


def made_longer(
    place: SourceSpan | None, source: Source, *, stepped: SourceSpan | None, wanted: int | None
) -> Iterator[Fix]:
    """Yield a schedule with as many steps as the loops around its step make."""
    call = source.at(place)
    if not isinstance(call, ast.Call) or wanted is None:
        return
    given = keyword(call, "total_steps") or (call.args[2] if len(call.args) > 2 else None)
    loops = _loops_around(source, stepped)
    text = _steps_in_words(source, call, loops) or str(wanted)
    title = f"make the schedule as long as the training: {text}"
    if given is not None:
        yield from source.fix(title, source.replace(given, text))
        return
    for name, factor in zip(("steps_per_epoch", "epochs"), map(_factor, loops), strict=False):
        number = keyword(call, name)
        right = _text_of_factor(source, factor)
        if number is not None and right is not None and source.of(number) != right:
            title = f"make the schedule as long as the training: {name}={right}"
            yield from source.fix(title, source.replace(number, right))


def _loops_around(source: Source, stepped: SourceSpan | None) -> list[ast.For]:
    statement = source.statement_at(stepped.line) if stepped is not None else None
    if statement is None or stepped is None or stepped.file != source.file:
        return []
    return [loop for loop in source.loops_of(statement) if isinstance(loop, ast.For)]


def _steps_in_words(source: Source, call: ast.Call, loops: list[ast.For]) -> str | None:
    """Return `epochs * len(loader)`, if the loops are in the scope of the schedule, so that the names mean the same."""
    if not loops or any(source.scope_of(loop) is not source.scope_of(call) for loop in loops):
        return None
    texts = [_text_of_factor(source, _factor(loop)) for loop in reversed(loops)]
    return " * ".join(one for one in texts if one) if all(texts) else None


def _factor(loop: ast.For) -> ast.expr:
    """Return what a loop runs over, without `enumerate` and progress bars."""
    node = loop.iter
    while isinstance(node, ast.Call) and word_of(node) in WRAPPERS and node.args:
        node = node.args[0]
    return node


def _text_of_factor(source: Source, node: ast.expr) -> str | None:
    """Return how often a loop runs, as code."""
    if isinstance(node, ast.Call) and word_of(node) == "range" and len(node.args) == 1:
        (count,) = node.args
        is_number = isinstance(count, ast.Constant)
        return source.of(count) if is_number else in_brackets(source.of(count), count)
    return f"len({source.of(node)})" if reference(node) is not None else None
