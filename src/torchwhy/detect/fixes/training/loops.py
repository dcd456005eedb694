"""Edits of the training loop: calls inserted, moved or put around a statement."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from torchwhy.detect.fixes.training import optimizer_variables
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.bindings import names_in
from torchwhy.source.calls import keyword, optimizer_calls, torch_name
from torchwhy.source.edits import Edit, Source
from torchwhy.source.scopes import enclosing

LOOPS = (ast.For, ast.While, ast.AsyncFor)
SWITCH_POSITION = 2  # The position of `training` among the arguments of F.dropout.


def clear_gradients(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `optimizer.zero_grad()` inserted before the backward pass."""
    for scope, backward in backwards(place, source):
        own = _receiver(place, source)
        name = own if own is not None and _is_known(scope, own) else None
        name = name or optimizer_variables.stepped(source, within=scope)
        if name is not None:
            edit = source.insert_before(backward, f"{name}.zero_grad()")
            yield from source.fix(
                f"clear the gradients before each backward pass: {name}.zero_grad()", edit
            )
            return
    yield from _cleared_after_manual_update(place, source)


def _cleared_after_manual_update(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `w.grad = None` after a manual update, `w -= rate * w.grad`."""
    line = place.line if place is not None else 0
    statement = source.statement_at(line)
    if isinstance(statement, ast.AugAssign):
        text = f"{source.of(statement.target).removesuffix('.data')}.grad = None"
        yield from source.fix(
            f"clear the gradient after its use: {text}", source.insert_after(statement, text)
        )


def backwards(place: SourceSpan | None, source: Source) -> Iterator[tuple[ast.AST, ast.stmt]]:
    """Yield the scopes with a backward pass and its statement, the scope around the place first."""
    line = place.line if place is not None else 0
    found = []
    for call in source.calls("backward"):
        statement = source.statement_of(call)
        scope = source.scope_of(call)
        if statement is None or getattr(scope, "name", "") == "backward":
            continue
        is_near = (
            getattr(scope, "lineno", 0) <= line <= (getattr(scope, "end_lineno", None) or line)
        )
        found.append((not is_near, abs(call.lineno - line), scope, statement))
    for _, _, scope, statement in sorted(found, key=lambda one: one[:2]):
        yield scope, statement


def move_before(place: SourceSpan | None, source: Source, *words: str) -> Iterator[Fix]:
    """Yield the statement moved before the first call of one of these functions in the same block."""
    yield from _moved(place, source, words, after=False)


def move_after(place: SourceSpan | None, source: Source, *words: str) -> Iterator[Fix]:
    """Yield the statement moved after the last call of one of these functions in the same block."""
    yield from _moved(place, source, words, after=True)


def clear_after_step(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the statement moved right after the step in the same function, under the step's condition."""
    line = place.line if place is not None else 0
    moved = source.statement_at(line)
    if moved is None:
        return
    scope = source.scope_of(moved)
    steps = [source.statement_of(call) for call in source.calls("step")]
    goals = [
        step
        for step in steps
        if step is not None and step.lineno > moved.lineno and source.scope_of(step) is scope
    ]
    if goals:
        title = (
            f"move {' '.join(source.of(moved).split())} after {source.of(goals[0]).splitlines()[0]}"
        )
        yield from source.fix(
            title, source.remove(moved), source.insert_after(goals[0], with_comment(source, moved))
        )


def _moved(
    place: SourceSpan | None, source: Source, words: tuple[str, ...], *, after: bool
) -> Iterator[Fix]:
    line = place.line if place is not None else 0
    moved = source.statement_at(line)
    if moved is None:
        return
    block = block_of(source, moved)
    goals = [
        statement
        for statement in block
        if statement is not moved and any(True for _ in source.calls(*words, within=statement))
    ]
    if not goals:
        return
    goal = goals[-1] if after else goals[0]
    insert = source.insert_after if after else source.insert_before
    where = "after" if after else "before"
    title = f"move {' '.join(source.of(moved).split())} {where} {source.of(goal).splitlines()[0]}"
    yield from source.fix(title, source.remove(moved), insert(goal, with_comment(source, moved)))


def with_comment(source: Source, statement: ast.stmt) -> str:
    """Return a statement with the comment at the end of its line."""
    if statement.lineno != statement.end_lineno:
        return source.of(statement)
    return source.lines[statement.lineno - 1].strip()


def block_of(source: Source, statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements of the block that this one is in."""
    holder = source.parents.get(statement, source.tree)
    for _, body in ast.iter_fields(holder):
        if isinstance(body, list) and statement in body:
            return body
    return []


def add_step(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `optimizer.step()` after the backward pass."""
    for scope, backward in backwards(place, source):
        name = (
            optimizer_variables.cleared_only(source, within=scope)
            or optimizer_variables.stepped(source, within=scope)
            or optimizer_variables.first_made(source)
        )
        if name is not None and name.split(".")[0] in names_in(scope) | {"self"}:
            edit = source.insert_after(backward, f"{name}.step()")
            yield from source.fix(
                f"update the weights after the backward pass: {name}.step()", edit
            )
            return


def clip(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `clip_grad_norm_` of all gradients after the backward pass."""
    torch = torch_name(source)
    for scope, backward in backwards(place, source):
        parameters = _parameters_text(source, scope)
        if torch is not None and parameters is not None:
            text = f"{torch}.nn.utils.clip_grad_norm_({parameters}, 1.0)"
            yield from source.fix(
                f"clip the gradients: {text}", source.insert_after(backward, text)
            )
            return


def _parameters_text(source: Source, scope: ast.AST) -> str | None:
    for call in optimizer_calls(source):
        if not call.args:
            continue
        text = source.of(call.args[0])
        name = optimizer_variables.stepped(source, within=scope)
        same_scope = source.scope_of(call) is scope
        if same_scope or text.split(".")[0] in names_in(scope):
            return text
        if name is not None:
            return f"[p for group in {name}.param_groups for p in group['params']]"
    return None


def unscale_first(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `scaler.unscale_(optimizer)` before clipping."""
    line = place.line if place is not None else 0
    statement = source.statement_at(line)
    if statement is None:
        return
    for call in source.calls("step", within=source.scope_of(statement)):
        if isinstance(call.func, ast.Attribute) and len(call.args) == 1:
            text = f"{source.of(call.func.value)}.unscale_({source.of(call.args[0])})"
            title = f"call {text} before clipping"
            yield from source.fix(title, source.insert_before(statement, text))
            return


def train_before_steps(
    place: SourceSpan | None, source: Source, model: str | None = None
) -> Iterator[Fix]:
    """Yield `model.train()` at the beginning of the training loop."""
    edit = train_edit(place, source, model or _receiver(place, source))
    if edit is not None:
        yield from source.fix(f"call {edit.text.strip()} before each training step", edit)


def _receiver(place: SourceSpan | None, source: Source) -> str | None:
    node = source.at(place)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return source.of(node.func.value)
    return None


def train_edit(place: SourceSpan | None, source: Source, model: str | None) -> Edit | None:
    """Return the edit that switches the model to train mode in the loop with the backward pass."""
    for scope, backward in backwards(place, source):
        loop = enclosing(source, backward, *LOOPS)
        first = loop.body[0] if isinstance(loop, LOOPS) else None
        if first is None and isinstance(scope, ast.FunctionDef):
            first = scope.body[0]
        name = (
            model
            if model is not None and _is_known(scope, model)
            else _trained_model(source, scope)
        )
        if first is not None and name is not None:
            return source.insert_before(first, f"{name}.train()")
    return None


def _is_known(scope: ast.AST, name: str) -> bool:
    root = name.split(".", maxsplit=1)[0]
    is_argument = isinstance(scope, ast.FunctionDef) and any(
        one.arg == root for one in scope.args.args
    )
    return is_argument or root in names_in(scope)


def _trained_model(source: Source, scope: ast.AST) -> str | None:
    for call in optimizer_calls(source):
        given = call.args[0] if call.args else None
        if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
            name = source.of(given.func.value)
            if given.func.attr == "parameters" and _is_known(scope, name):
                return name
    return None


def evaluate_in_eval_mode(place: SourceSpan | None, source: Source, *, path: str) -> Iterator[Fix]:
    """Yield `model.eval()` before the evaluation and `model.train()` before the next training step.

    `path` names the model as it was recorded.
    """
    node = source.at(place)
    if not isinstance(node, ast.Call):
        return
    model = _evaluated(source, node, path)
    statement = source.statement_of(node)
    outer = None if statement is None else enclosing(source, statement, *LOOPS, ast.With)
    evaluation = (
        outer
        if isinstance(outer, ast.With | ast.For) and _only_evaluates(source, outer)
        else statement
    )
    if not isinstance(evaluation, ast.stmt) or model is None:
        return
    back = train_edit(place, source, model)
    yield from source.fix(
        f"call {model}.eval() for the evaluation and {model}.train() for training",
        source.insert_before(evaluation, f"{model}.eval()"),
        back,
    )


def dropout_with_mode(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a dropout function with the mode of its module as an argument, in a method that has `self`."""
    call = source.at(place)
    if not isinstance(call, ast.Call):
        return
    probability = keyword(call, "dropout_p")
    if probability is not None:
        text = f"{source.of(probability)} if self.training else 0.0"
        yield from source.fix(f"pass the mode: dropout_p={text}", source.replace(probability, text))
        return
    method = source.scope_of(call)
    first = method.args.args[:1] if isinstance(method, ast.FunctionDef) else []
    has_mode = keyword(call, "training") is not None or len(call.args) > SWITCH_POSITION
    if not first or first[0].arg != "self" or has_mode:
        return
    text = source.of(call)
    changed = f"{text[:-1].rstrip().rstrip(',')}, training=self.training)"
    yield from source.fix("pass the module's mode to dropout", source.replace(call, changed))


def _evaluated(source: Source, call: ast.Call, path: str) -> str | None:
    """Return the model that a call evaluates: the called object, the owner of the method, or an argument.

    `path` names the recorded module, which may be a part of that model.
    """
    names = path.split(".")
    texts = [source.of(given) for given in call.args if isinstance(given, ast.Name | ast.Attribute)]
    if isinstance(call.func, ast.Attribute):
        texts = [source.of(call.func), source.of(call.func.value), *texts]
    elif isinstance(call.func, ast.Name) and call.func.id == names[-1]:
        return call.func.id
    named = [text for text in texts if text.rpartition(".")[2] in names]
    if named:
        return named[0]
    return call.func.id if isinstance(call.func, ast.Name) else None


def _only_evaluates(source: Source, block: ast.AST) -> bool:
    return not any(True for _ in source.calls("backward", "step", within=block))


def without_graph(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the statement under `torch.no_grad()`."""
    torch = torch_name(source)
    node = source.at(place)
    line = place.line if place is not None else 0
    statement = source.statement_at(line) if node is None else source.statement_of(node)
    if torch is None or statement is None or isinstance(statement, (*LOOPS, ast.With, ast.If)):
        return
    start, end = source.stretch(statement)
    margin = source.text[source.text.rfind("\n", 0, start) + 1 : start]
    if margin.strip():
        return
    body = textwrap.indent(source.text[start:end], "    ").lstrip()
    text = f"with {torch}.no_grad():\n{margin}    {body}"
    yield from source.fix(
        f"evaluate under {torch}.no_grad()", Edit(start, end, text), safety="safe"
    )
