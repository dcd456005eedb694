"""Which variable holds the optimizer, judged by what the program does with it."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchwhy.source.calls import optimizer_calls, word_of
from torchwhy.source.edits import Source

# The endings of class names in torch.optim.lr_scheduler.
SCHEDULES = ("LR", "LROnPlateau", "WarmRestarts", "Scheduler")


def stepped(source: Source, *, within: ast.AST) -> str | None:
    """Return how a scope names the optimizer whose `step` it calls; under a scaler, the scaler's argument.

    If another file creates the optimizer, it is the first object that steps without arguments and is no schedule.
    """
    makers = {id(call) for call in optimizer_calls(source)}
    made = _names_made_with(source, lambda part: id(part) in makers)
    scalers = {holder for holder, _ in _methods(source, "scale", within=within)}
    steps = _methods(source, "step", within=within)
    for holder, call in steps:
        given = source.of(call.args[0]) if len(call.args) == 1 else ""
        if given and (given in made or holder in scalers):
            return given
        if holder in made:
            return holder
    schedules = _names_made_with(source, lambda part: _makes_schedule(source, part, made))
    plain = [holder for holder, call in steps if not call.args and not call.keywords]
    return next((holder for holder in plain if holder not in schedules), None)


def _makes_schedule(source: Source, part: ast.AST, optimizers: set[str]) -> bool:
    """Tell whether a call creates a schedule: of a class of torch, or with an optimizer as argument."""
    if not isinstance(part, ast.Call):
        return False
    given = {source.of(one) for one in part.args}
    return bool(given & optimizers) or (word_of(part) or "").endswith(SCHEDULES)


def _methods(source: Source, name: str, *, within: ast.AST) -> list[tuple[str, ast.Call]]:
    """Return pairs of the object's text and the call for each call of a method, from top to bottom."""
    calls = sorted(source.calls(name, within=within), key=lambda call: call.lineno)
    return [
        (source.of(call.func.value), call) for call in calls if isinstance(call.func, ast.Attribute)
    ]


def _names_made_with(source: Source, is_part: Callable[[ast.AST], bool]) -> set[str]:
    """Return the variables and attributes whose assigned expression has a part that fits."""
    return {
        source.of(target)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assign) and any(is_part(part) for part in ast.walk(node.value))
        for target in node.targets
        if isinstance(target, ast.Name | ast.Attribute)
    }


def cleared_only(source: Source, *, within: ast.AST) -> str | None:
    """Return the optimizer that a scope clears and never steps."""
    steps = {source.of(call.func) for call in source.calls("step", within=within)}
    for call in source.calls("zero_grad", within=within):
        if isinstance(call.func, ast.Attribute):
            name = source.of(call.func.value)
            if f"{name}.step" not in steps and not _is_model(source, name):
                return name
    return None


def _is_model(source: Source, name: str) -> bool:
    """Tell whether the program calls an object or its `parameters`: models have `zero_grad`, too."""
    used = {source.of(node.func) for node in ast.walk(source.tree) if isinstance(node, ast.Call)}
    return bool(used & {name, f"{name}.parameters"})


def first_made(source: Source) -> str | None:
    """Return the variable that holds the first optimizer of a file."""
    for call in optimizer_calls(source):
        statement = source.statement_of(call)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            return source.of(statement.targets[0])
    return None
