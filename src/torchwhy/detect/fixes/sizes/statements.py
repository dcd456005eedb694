"""Edits of the failing statement: graphs, in-place writes, shapes that assume a full batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.fixes.training.loops import block_of, without_graph
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.calls import keyword, operand_of, torch_name, word_of
from torchwhy.source.edits import Edit, Source, in_brackets

SIGNS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
}


def statement_at(place: SourceSpan | None, source: Source) -> ast.stmt | None:
    """Return the statement at a place."""
    return None if place is None else source.statement_at(place.line)


def scalar_loss(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `loss.mean().backward()`."""
    statement = statement_at(place, source)
    for call in source.calls("backward", within=statement) if statement is not None else ():
        if isinstance(call.func, ast.Attribute):
            text = f"{in_brackets(source.of(call.func.value), call.func.value)}.mean()"
            yield from source.fix(
                f"take the mean first: {text}.backward()", source.replace(call.func.value, text)
            )


def copied_array(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a copy of an array that is a reversed view."""
    statement = statement_at(place, source)
    if statement is None:
        return
    for node in ast.walk(statement):
        reversed_view = isinstance(node, ast.Subscript) and "::-" in source.of(node)
        if reversed_view and isinstance(node, ast.Subscript):
            text = f"{source.of(node)}.copy()"
            yield from source.fix(f"copy the array: {text}", source.replace(node, text))
        elif isinstance(node, ast.Call) and word_of(node) in ("from_numpy", "tensor", "as_tensor"):
            value = operand_of(source, node)
            if value is not None:
                text = f"{in_brackets(source.of(value), value)}.copy()"
                yield from source.fix(f"copy the array: {text}", source.replace(value, text))


def out_of_place(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a new tensor instead of an in-place write: `x = x + y` for `x += y`, a copy before `x[i] = y`."""
    statement = statement_at(place, source)
    if isinstance(statement, ast.AugAssign) and type(statement.op) in SIGNS:
        target, value = source.of(statement.target), statement.value
        right = source.of(value)
        if isinstance(value, ast.BinOp | ast.IfExp | ast.Compare | ast.BoolOp):
            right = f"({right})"
        text = f"{target} = {target} {SIGNS[type(statement.op)]} {right}"
        yield from source.fix(f"write {' '.join(text.split())}", source.replace(statement, text))
    elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        name = source.of(statement.targets[0].value)
        text = f"{name} = {name}.clone()"
        yield from source.fix(f"write into a copy: {text}", source.insert_before(statement, text))
    else:
        yield from _without_underscore(source, statement)


def _without_underscore(source: Source, statement: ast.stmt | None) -> Iterator[Fix]:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    name = source.of(call.func.value)
    word = call.func.attr
    if word.endswith("_") and not word.endswith("__"):
        rest = source.of(call)[len(source.of(call.func)) :]
        text = f"{name} = {name}.{word.rstrip('_')}{rest}"
        yield from source.fix(f"write {' '.join(text.split())}", source.replace(call, text))


def update_by_hand(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `w -= rate * w.grad` under no_grad."""
    if isinstance(statement_at(place, source), ast.AugAssign):
        yield from without_graph(place, source)


def with_graph(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield fixes that keep the graph: no `no_grad` around it."""
    statement = statement_at(place, source)
    if isinstance(statement, ast.With):
        for item in statement.items:
            if word_of(item.context_expr) in ("no_grad", "inference_mode"):
                text = source.of(item.context_expr).replace("no_grad", "enable_grad")
                text = text.replace("inference_mode", "enable_grad")
                yield from source.fix(
                    f"keep the graph: {text}", source.replace(item.context_expr, text)
                )
            elif isinstance(item.context_expr, ast.Name):
                text = "torch.enable_grad()"
                yield from source.fix(
                    f"keep the graph: {text}", source.replace(item.context_expr, text)
                )


def called(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the call of a method that the program names but does not call."""
    statement = statement_at(place, source)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Attribute):
        text = f"{source.of(statement.value)}()"
        yield from source.fix(f"call it: {text}", source.replace(statement.value, text))


def unfrozen(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the program without the statement that freezes parameters."""
    statement = statement_at(place, source)
    text = "" if statement is None else source.of(statement)
    if (
        statement is not None
        and "requires_grad" in text
        and not isinstance(statement, ast.For | ast.With)
    ):
        yield from source.fix("leave the parameters trainable", source.without(statement))
        forced = [
            one
            for one in ast.walk(source.tree)
            if isinstance(one, ast.Assign)
            and one is not statement
            and source.of(one).replace(" ", "").endswith(".requires_grad=True")
        ]
        if forced:  # The program also sets `requires_grad` on the loss, which hides the problem.
            edits = [source.without(one) for one in (statement, *forced)]
            yield from source.fix("leave the parameters trainable", *edits)


def cut_between_steps(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield fixes that detach the state of the previous step, or keep the graph in the first of two backward passes."""
    statement = statement_at(place, source)
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        yield from _own_loss_backward(source, statement)
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        name = source.of(statement.targets[0])
        places = [
            node
            for node in ast.walk(statement.value)
            if isinstance(node, ast.Name | ast.Attribute) and source.of(node) == name
        ]
        edits = [source.replace(node, f"{name}.detach()") for node in places]
        if edits:
            yield from source.fix(f"continue from {name}.detach()", *edits)
    elif statement is not None:
        yield from _graph_for_both(source, statement)


def _own_loss_backward(source: Source, statement: ast.Assign) -> Iterator[Fix]:
    """Yield `loss.backward()` and a sum of numbers for `total = total + loss; total.backward()`."""
    total = source.of(statement.targets[0])
    assert isinstance(statement.value, ast.BinOp)
    sides = (statement.value.left, statement.value.right)
    others = [side for side in sides if source.of(side) != total and isinstance(side, ast.Name)]
    for call in source.calls("backward", within=source.scope_of(statement)):
        sends_total = isinstance(call.func, ast.Attribute) and source.of(call.func.value) == total
        if sends_total and isinstance(call.func, ast.Attribute) and len(others) == 1:
            loss = source.of(others[0])
            yield from source.fix(
                f"call {loss}.backward(), and add {loss}.item() to {total}",
                source.replace(others[0], f"{loss}.item()"),
                source.replace(call.func.value, loss),
            )


def _graph_for_both(source: Source, statement: ast.stmt) -> Iterator[Fix]:
    for earlier in block_of(source, statement):
        if earlier.lineno >= statement.lineno:
            return
        for call in source.calls("backward", within=earlier):
            if keyword(call, "retain_graph") is None and not call.args:
                end = source.stretch(call)[1] - 1
                edit = Edit(end, end, "retain_graph=True")
                yield from source.fix(
                    "keep the graph for the second backward: retain_graph=True", edit
                )


def any_batch_size(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a shape that accepts any batch size: -1 instead of a number."""
    node = source.at(place)
    reshapes = isinstance(node, ast.Call) and word_of(node) in ("view", "reshape")
    if not reshapes or not isinstance(node, ast.Call) or len(node.args) < 2:
        return
    if any(source.of(one) == "-1" for one in node.args[1:]):
        yield from _size_of_batch(source, node)
    elif isinstance(node.args[0], ast.Constant | ast.Name):
        shape = ", ".join(["-1", *(source.of(one) for one in node.args[1:])])
        edit = source.replace(node.args[0], "-1")
        yield from source.fix(f"accept any batch size: {word_of(node)}({shape})", edit)


def _size_of_batch(source: Source, node: ast.Call) -> Iterator[Fix]:
    """Yield `x.view(x.size(0), -1)` for `x.view(32, -1)`; a longer chain uses the input of the function."""
    scope = source.scope_of(node)
    assert isinstance(node.func, ast.Attribute)
    reshaped = node.func.value
    given = [one.arg for one in scope.args.args] if isinstance(scope, ast.FunctionDef) else []
    inputs = [name for name in given if name != "self"]
    name = source.of(reshaped) if isinstance(reshaped, ast.Name) else next(iter(inputs), None)
    if name is not None:
        text = f"{name}.size(0)"
        edit = source.replace(node.args[0], text)
        yield from source.fix(f"take the size from the batch: {text}", edit)


def only_matrices(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield an initialisation that skips vectors, which have no fan-in."""
    statement = statement_at(place, source)
    call = statement.value if isinstance(statement, ast.Expr) else None
    value = None if call is None else operand_of(source, call)
    if statement is None or value is None:
        return
    start, end = source.stretch(statement)
    margin = source.text[source.text.rfind("\n", 0, start) + 1 : start]
    if margin.strip() or "\n" in source.text[start:end]:
        return
    condition = f"if {source.of(value)}.dim() > 1:"
    text = f"{condition}\n{margin}    {source.text[start:end]}"
    yield from source.fix(f"initialise only matrices: {condition}", Edit(start, end, text))


def as_float(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the target of a loss in floating point."""
    node = source.at(place)
    target = None if node is None else operand_of(source, node, number=1)
    if target is not None and torch_name(source) is not None:
        text = f"{in_brackets(source.of(target), target)}.float()"
        yield from source.fix(f"pass {text} to the loss", source.replace(target, text))
