"""Edits that keep, cut or rebuild a graph."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchwhy.detect.fixes.memory.memory import carried, cut_state
from torchwhy.detect.fixes.models.modules import keep_graph
from torchwhy.detect.fixes.training.loops import LOOPS
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.bindings import assignments, value_of_name
from torchwhy.source.calls import keyword, torch_name, word_of
from torchwhy.source.edits import Edit, Source, in_brackets
from torchwhy.source.scopes import enclosing

NAME_OR_ITEM = re.compile(r"[\w.\[\]'\"]+")
DOTTED_NAME = re.compile(r"[\w.]+")
FREEZES = re.compile(r"\.requires_grad(=|_\(|_\(requires_grad=)False\)?$")
NUMBERS = ("item", "tolist")


def computed_in_the_loop(
    place: SourceSpan | None, source: Source, *, made: SourceSpan | None
) -> Iterator[Fix]:
    """Yield a value that was computed once, before the loop, computed in every iteration."""
    used = None if place is None else source.statement_at(place.line)
    statement = None if made is None else source.statement_at(made.line)
    loop = None if used is None else enclosing(source, used, *LOOPS)
    if not isinstance(statement, ast.Assign) or not isinstance(loop, LOOPS):
        return
    text = source.of(statement)
    name = source.of(statement.targets[0])
    goal = source.insert_before(loop.body[0], text)
    yield from source.fix(f"compute {name} inside the loop", source.remove(statement), goal)
    yield from source.fix(f"compute {name} inside the loop", goal)


def detached_in_the_loop(place: SourceSpan | None, source: Source, *, name: str) -> Iterator[Fix]:
    """Yield a value that was computed before the loop, used in the loop without its graph."""
    used = None if place is None else source.statement_at(place.line)
    loop = None if used is None else enclosing(source, used, *LOOPS)
    if not isinstance(loop, LOOPS) or DOTTED_NAME.fullmatch(name) is None:
        return
    uses = [
        node
        for statement in loop.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name | ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and source.of(node) == name
    ]
    if uses:
        edits = [source.replace(use, f"{name}.detach()") for use in uses]
        yield from source.fix(f"use {name}.detach() in the loop", *edits)


def carried_state(place: SourceSpan | None, source: Source, *, name: str) -> Iterator[Fix]:
    """Yield a state detached before the next iteration gets it."""
    statement = None if place is None else source.statement_at(place.line)
    if statement is None or DOTTED_NAME.fullmatch(name) is None:
        return
    for one in carried(source, statement) or [name]:
        yield from cut_state(source, statement, one)


def detached_for_the_first(
    place: SourceSpan | None, source: Source, *, shared: str
) -> Iterator[Fix]:
    """Yield the value that two losses share, detached for the first loss."""
    raised = None if place is None else source.statement_at(place.line)
    if raised is None or NAME_OR_ITEM.fullmatch(shared) is None:
        return
    scope = source.scope_of(raised)
    uses: dict[ast.stmt, list[ast.expr]] = {}
    for call in (node for node in ast.walk(source.tree) if isinstance(node, ast.Call)):
        for given in call.args:
            statement = source.statement_of(call)
            if source.of(given) == shared and isinstance(statement, ast.Assign | ast.Return):
                uses.setdefault(statement, []).append(given)
    for statement, places in sorted(uses.items(), key=lambda one: one[0].lineno):
        edits = [source.replace(use, f"{shared}.detach()") for use in places]
        if source.scope_of(statement) is not scope or statement.lineno < raised.lineno:
            yield from source.fix(f"use {shared}.detach() for the first loss", *edits)


def differentiable(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `requires_grad_()` for the tensors that `grad` differentiates with respect to, before their first use."""
    statement = None if place is None else source.statement_at(place.line)
    scope = None if statement is None else source.scope_of(statement)
    if statement is None or scope is None:
        return
    calls = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Call) and word_of(node) == "grad" and len(node.args) > 1
    ]
    names = {
        name.id for call in calls for name in ast.walk(call.args[1]) if isinstance(name, ast.Name)
    }
    body = getattr(scope, "body", [])
    given = {one.arg for one in scope.args.args} if isinstance(scope, ast.FunctionDef) else set()
    for_function = "; ".join(f"{name}.requires_grad_()" for name in sorted(names & given))
    edits = [source.insert_before(body[0], for_function)] if for_function else []
    for name in sorted(names - given):
        made = [one for one in assignments(name, within=scope) if one.lineno < statement.lineno]
        edits += [source.insert_after(one, f"{name}.requires_grad_()") for one in made[-1:]]
    if edits:
        yield from source.fix(
            "let the tensors that grad() differentiates by require gradients", *edits
        )


def drawn_with_derivative(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a draw that passes gradients: `rsample`, or noise that is scaled and shifted."""
    node = source.at(place)
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)] if node is not None else []
    for call in calls:
        if word_of(call) == "sample" and isinstance(call.func, ast.Attribute):
            new = f"{source.of(call.func.value)}.rsample"
            yield from source.fix("draw with rsample()", source.replace(call.func, new))
        if word_of(call) == "normal" and len(call.args) == 2 and torch_name(source) is not None:
            mean, spread = (source.of(one) for one in call.args)
            text = f"({mean} + ({spread}) * {torch_name(source)}.randn_like({spread}))"
            yield from source.fix(f"draw with a derivative: {text}", source.replace(call, text))


def kept(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the program without the code that cuts the graph at the place."""
    yield from keep_graph(place, source)
    yield from _without_decorator(place, source)
    yield from _switched_on(place, source)
    yield from _without_threshold(place, source)
    yield from _stacked(place, source)
    yield from _not_as_number(place, source)


def with_graph_of_gradient(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the call of `torch.autograd.grad` at the place with `create_graph=True`."""
    for call in source.calls("grad"):
        if place is None or call.lineno != place.line:
            continue
        given = keyword(call, "create_graph")
        if given is not None:
            edit = source.replace(given, "True")
        else:
            last = max((*call.args, *(one.value for one in call.keywords)), key=_end_of)
            edit = source.replace(last, f"{source.of(last)}, create_graph=True")
        yield from source.fix("keep the graph of the gradient", edit)


def _end_of(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0


def unfrozen(source: Source) -> Iterator[Fix]:
    """Yield the program without the statements that freeze parameters: frozen ones give a loss no graph, either."""
    frozen = [
        statement
        for statement in ast.walk(source.tree)
        if isinstance(statement, ast.Assign | ast.Expr)
        and FREEZES.search("".join(source.of(statement).split()))
    ]
    if frozen:
        edits = [source.without(statement) for statement in frozen]
        yield from source.fix("leave the parameters trainable", *edits)


def _not_as_number(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the loss itself instead of a new tensor made from its number: `torch.tensor(value)`, `value = x.item()`."""
    line = place.line if place is not None else 0
    for call in source.calls("tensor", "as_tensor", "Tensor", "FloatTensor", "Variable"):
        value = value_of_name(source, call.args[0]) if call.args else None
        is_number = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
        if abs(call.lineno - line) > 1 or not is_number or word_of(value) not in NUMBERS:
            continue
        assert isinstance(value, ast.Call)
        assert isinstance(value.func, ast.Attribute)
        name = source.of(call.args[0])
        yield from source.fix(
            f"keep the graph: use {name} itself, not its number",
            source.replace(call, name),
            source.replace(value, source.of(value.func.value)),
        )


def _without_decorator(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    line = place.line if place is not None else 0
    for function in ast.walk(source.tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for decorator in function.decorator_list:
            word = word_of(decorator) or getattr(decorator, "attr", None)
            if decorator.lineno == line and word in ("no_grad", "inference_mode"):
                start = source.offset(line, 0)
                end = source.offset(line + 1, 0)
                yield from source.fix(
                    f"keep the graph: remove @{source.of(decorator)}", Edit(start, end, "")
                )


def _switched_on(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `set_grad_enabled(True)` instead of the call at the place."""
    line = place.line if place is not None else 0
    for call in source.calls("set_grad_enabled"):
        if call.lineno == line and call.args:
            title = "keep the graph: set_grad_enabled(True)"
            yield from source.fix(title, source.replace(call.args[0], "True"))


def _without_threshold(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `p` instead of `(p > 0.5).float()` and `p.round()`, whose derivative is 0."""
    node = source.at(place)
    for part in ast.walk(node) if node is not None else ():
        if isinstance(part, ast.Compare) and len(part.comparators) == 1:
            outer: ast.expr = part
            parent = source.parents.get(part)
            while isinstance(parent, ast.Attribute | ast.Call) and _is_cast(parent, outer):
                outer = parent
                parent = source.parents.get(parent)
            text = in_brackets(source.of(part.left), part.left)
            edit = source.replace(outer, text)
            if outer is part:
                edit = Edit(*source.in_own_brackets(part), text)
            yield from source.fix(f"use the values themselves: {text}", edit)
        elif word_of(part if isinstance(part, ast.expr) else None) in ("round", "sign"):
            assert isinstance(part, ast.Call)
            if isinstance(part.func, ast.Attribute) and not part.args:
                text = source.of(part.func.value)
                yield from source.fix(
                    f"use the values themselves: {text}", source.replace(part, text)
                )


def _is_cast(node: ast.expr, inner: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.value is inner and node.attr in ("float", "double", "type", "to")
    return isinstance(node, ast.Call) and node.func is inner


def _stacked(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `torch.stack(parts)` instead of `torch.tensor(parts)`, and the parts kept as tensors."""
    line = place.line if place is not None else 0
    torch = torch_name(source)
    for call in source.calls("tensor", "as_tensor", "Tensor", "FloatTensor"):
        if call.lineno != line or torch is None or len(call.args) != 1:
            continue
        name = source.of(call.args[0])
        edits = [source.replace(call, f"{torch}.stack({name})")]
        edits += [
            source.replace(given, source.of(given.func.value))
            for append in source.calls("append", within=source.scope_of(call))
            if source.of(append.func) == f"{name}.append"
            for given in append.args[:1]
            if isinstance(given, ast.Call)
            and isinstance(given.func, ast.Attribute)
            and given.func.attr in NUMBERS
        ]
        yield from source.fix(f"keep the graph: {torch}.stack({name})", *edits)


def read_without_graph(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `x.detach().numpy()` instead of `x.numpy()`."""
    yield from _before_numpy(place, source, ".detach()", "read it without its graph: .detach()")


def read_as_float(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `x.float().numpy()` instead of `x.numpy()`."""
    yield from _before_numpy(place, source, ".float()", "convert to float32 for NumPy: .float()")


def _before_numpy(
    place: SourceSpan | None, source: Source, method: str, title: str
) -> Iterator[Fix]:
    node = source.at(place)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    if node.func.attr == "numpy":
        end = source.stretch(node.func.value)[1]
        yield from source.fix(title, Edit(end, end, method))


def not_in_place(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the activations of the file without `inplace=True`."""
    node = source.at(place)
    line = place.line if place is not None else 0
    if not isinstance(node, ast.Call) and source.statement_at(line) is None:
        return
    places = [
        given
        for call in ast.walk(source.tree)
        if isinstance(call, ast.Call)
        if (given := keyword(call, "inplace")) is not None
        and isinstance(given, ast.Constant)
        and given.value is True
    ]
    if places:
        edits = [source.replace(given, "False") for given in places]
        yield from source.fix("let the activation make a new tensor: inplace=False", *edits)


def states_cut(source: Source) -> Iterator[Fix]:
    """Yield the states that a loop carries over detached, if `retain_graph` keeps their graph."""
    for call in source.calls("backward"):
        loop = enclosing(source, call, *LOOPS)
        kept_alive = keyword(call, "retain_graph")
        if kept_alive is None or not isinstance(loop, LOOPS):
            continue
        for statement in loop.body:
            for name in carried(source, statement):
                yield from cut_state(source, statement, name)
