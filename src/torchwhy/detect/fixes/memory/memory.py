"""Edits of statements that keep tensors alive: detach values, cut states between steps, clear or bound collections."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from torchwhy.detect.fixes.training.loops import LOOPS
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.bindings import assignments, names_in
from torchwhy.source.calls import keyword, module_names, word_of
from torchwhy.source.edits import Edit, Source, in_brackets
from torchwhy.source.scopes import enclosing
from torchwhy.source.text import one_line

ADDS = ("append", "appendleft", "add", "extend", "insert", "put", "put_nowait", "push", "update")
NUMBERS = ("item", "float", "int", "len", "str", "tolist", "detach", "perf_counter", "time", "copy")
PLACES = (ast.Name, ast.Attribute, ast.Subscript)  # Expressions that a statement can assign to.
WINDOW = 100  # Enough entries for a moving average.


def kept_without_graph(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield fixes that keep the value at a place without its graph, or cut a state between the steps."""
    statement = _statement(place, source)
    if statement is None:
        return
    names = carried(source, statement)
    for name in names:
        if feeds_backward(source, statement, name):
            yield from cut_state(source, statement, name)
    if isinstance(statement, ast.Assign | ast.AugAssign) and names:
        yield from _added_without_graph(source, statement, names)
        for name in names:
            yield from cut_state(source, statement, name)
    parts = [part for value in _kept(statement) for part in _tensors(source, value)]
    if parts:
        yield from _detached(source, statement, parts)


def kept_name(place: SourceSpan | None, source: Source) -> ast.Name | None:
    """Return the one variable that the statement at a place keeps."""
    statement = _statement(place, source)
    kept = [] if statement is None else list(_kept(statement))
    return kept[0] if len(kept) == 1 and isinstance(kept[0], ast.Name) else None


def kept_dict_without_graph(
    place: SourceSpan | None, source: Source, parts: list[str]
) -> Iterator[Fix]:
    """Yield the fix that keeps a dict with these of its entries detached: `{**output, "loss": …}`."""
    name = kept_name(place, source)
    keys = [re.fullmatch(r"\['(\w+)'\]", part) for part in parts]
    if name is None or None in keys:
        return
    entries = [f'"{key[1]}": {name.id}["{key[1]}"].detach()' for key in keys if key is not None]
    changed = f"{{**{name.id}, {', '.join(entries)}}}"
    yield from source.fix(
        f"keep the tensors without their graphs: `{changed}`",
        source.replace(name, changed),
        safety="safe",
    )


def _statement(place: SourceSpan | None, source: Source) -> ast.stmt | None:
    return None if place is None else source.statement_at(place.line)


def _kept(statement: ast.stmt) -> Iterator[ast.expr]:
    """Yield the values that a statement puts into a collection or an attribute."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and call.func.attr in ADDS and call.args:
            yield call.args[-1]
        yield from (
            one.value for one in call.keywords if isinstance(call.func, ast.Attribute) and one.arg
        )
    elif isinstance(statement, ast.AugAssign) or (
        isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Subscript | ast.Attribute)
    ):
        yield statement.value


def _tensors(source: Source, value: ast.expr) -> Iterator[ast.expr]:
    """Yield the parts of a kept value that may be tensors: not numbers, strings or counters."""
    if isinstance(value, ast.Tuple | ast.List | ast.Set):
        for part in value.elts:
            yield from _tensors(source, part)
    elif isinstance(value, ast.Dict):
        for part in value.values:
            yield from _tensors(source, part)
    elif isinstance(value, ast.ListComp | ast.GeneratorExp | ast.SetComp):
        yield from _tensors(source, value.elt)
    elif isinstance(value, ast.Call) and word_of(value) == "dict":
        for one in value.keywords:
            yield from _tensors(source, one.value)
    elif not (
        isinstance(value, ast.Constant | ast.JoinedStr | ast.Starred)
        or word_of(value) in NUMBERS
        or _is_counter(source, value)
    ):
        yield value


def _is_counter(source: Source, value: ast.expr) -> bool:
    """Tell whether a name is a counter: of a loop over a range, of `enumerate`, or of `n += 1`."""
    text = source.of(value)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
            first = node.target.elts[0] if isinstance(node.target, ast.Tuple) else node.target
            word = word_of(node.iter)
            counts = word in ("range", "trange") or (word == "enumerate" and first != node.target)
            if counts and source.of(first) == text:
                return True
        counts = isinstance(node, ast.AugAssign) and isinstance(node.value, ast.Constant)
        if counts and isinstance(node, ast.AugAssign) and source.of(node.target) == text:
            return True
    return False


def _detached(source: Source, statement: ast.stmt, parts: list[ast.expr]) -> Iterator[Fix]:
    edits = [
        source.replace(part, f"{in_brackets(source.of(part), part)}.detach()") for part in parts
    ]
    start = source.stretch(statement)[0]
    added = sum(len(edit.text) - (edit.end - edit.start) for edit in edits)
    shown = source.edited(edits)[start : source.stretch(statement)[1] + added]
    yield from source.fix(
        f"keep tensors without their graphs: `{one_line(shown)}`", *edits, safety="safe"
    )
    if len(parts) > 1:  # Some of them may not be tensors, so each is tried alone.
        for part in parts:
            yield from _detached(source, statement, [part])


def carried(source: Source, statement: ast.stmt) -> list[str]:
    """Return the names that a statement computes from themselves: `state` in `out, state = cell(x, state)`."""
    if isinstance(statement, ast.AugAssign):
        return [source.of(statement.target)]
    if not isinstance(statement, ast.Assign):
        return []
    targets: list[ast.expr] = []
    for target in statement.targets:
        targets += target.elts if isinstance(target, ast.Tuple) else [target]
    parts = [target for one in targets for target in ast.walk(one)]
    made = [source.of(one) for one in parts if isinstance(one, PLACES)]
    read = {source.of(one) for one in ast.walk(statement.value) if isinstance(one, PLACES)}
    names = [name for name in dict.fromkeys(made) if name in read and name != "self"]
    # In `memory["h"]` the item is carried over, not the dict that holds it.
    return [name for name in names if not any(one.startswith(f"{name}[") for one in names)]


def feeds_backward(source: Source, statement: ast.stmt, name: str) -> bool:
    """Tell whether a loss that goes backward depends on a name, as far as the assignments in its scope show."""
    scope = source.scope_of(statement)
    wanted = {
        source.of(call.func.value)
        for call in source.calls("backward", within=scope)
        if isinstance(call.func, ast.Attribute)
    }
    for _ in range(len(wanted) + 20):
        more = {
            part
            for one in wanted
            if one.isidentifier()
            for made in assignments(one, within=scope)
            for value in [getattr(made, "value", None)]
            if isinstance(value, ast.expr)
            for part in names_in(value)
        }
        if more <= wanted:
            break
        wanted |= more
    return name in wanted


def _added_without_graph(
    source: Source, statement: ast.Assign | ast.AugAssign, names: list[str]
) -> Iterator[Fix]:
    """Yield `average = 0.9 * average + 0.1 * loss.detach()`: what the statement adds has no graph."""
    others = list(_beside(source, statement.value, set(names)))
    parts = [part for one in others for part in _tensors(source, one)]
    if parts:
        yield from _detached(source, statement, parts)
        # A meter may get losses and plain numbers: `float` accepts both.
        edits = [source.replace(part, f"float({source.of(part)})") for part in parts]
        yield from source.fix("keep numbers instead of tensors", *edits)


def _beside(source: Source, node: ast.expr, names: set[str]) -> Iterator[ast.expr]:
    """Yield the largest parts of an expression that read none of the names, without their constant factors."""
    read = {source.of(one) for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute)}
    modules = module_names(source)
    if isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id in modules):
        return
    if read & names or (isinstance(node, ast.BinOp) and _has_constant(node)):
        for child in ast.iter_child_nodes(node):
            is_function = isinstance(node, ast.Call) and child is node.func
            if isinstance(child, ast.keyword):
                continue
            if isinstance(child, ast.expr) and not is_function and source.of(child) not in names:
                yield from _beside(source, child, names)
    elif isinstance(node, ast.List | ast.Tuple):
        for child in node.elts:
            yield from _beside(source, child, names)
    else:
        yield node


def _has_constant(node: ast.BinOp) -> bool:
    return isinstance(node.left, ast.Constant) or isinstance(node.right, ast.Constant)


def cut_state(source: Source, statement: ast.stmt, name: str) -> Iterator[Fix]:
    """Yield fixes that pass a state to the next step without its graph: a tensor, a tuple or a list of tensors."""
    before = _before_inner_loop(source, statement)
    if before is not None:
        yield from _cut(source, name, lambda text: source.insert_before(before, text))
        return
    places = [
        node
        for node in ast.walk(getattr(statement, "value", statement))
        if isinstance(node, PLACES) and source.of(node) == name
    ]
    if places and isinstance(statement, ast.Assign):
        edits = [source.replace(node, f"{name}.detach()") for node in places]
        yield from source.fix(f"continue from {name}.detach()", *edits)
    loop = enclosing(source, statement, *LOOPS)
    is_inside = source.scope_of(statement) is source.scope_of(loop) if loop is not None else False
    last = loop.body[-1] if isinstance(loop, LOOPS) and is_inside else statement
    yield from _cut(source, name, lambda text: source.insert_after(last, text))


def _cut(source: Source, name: str, put: Callable[[str], Edit | None]) -> Iterator[Fix]:
    for text in (
        f"{name} = {name}.detach()",
        f"{name} = tuple(part.detach() for part in {name})",
        f"{name} = [part.detach() for part in {name}]",
    ):
        yield from source.fix(f"cut the graph between the steps: {text}", put(text))


def _before_inner_loop(source: Source, statement: ast.stmt) -> ast.stmt | None:
    """Return the loop over time steps around a statement if `backward()` runs only after it, otherwise None.

    Cutting a state inside such a loop would stop gradients between its time steps.
    """
    scope = source.scope_of(statement)
    inner: ast.stmt | None = None
    node: ast.AST | None = source.parents.get(statement)
    while node is not None and node is not scope:
        if isinstance(node, LOOPS):
            if next(source.calls("backward", within=node), None) is not None:
                return inner
            inner = node
        node = source.parents.get(node)
    sends = next(source.calls("backward", within=scope), None) is not None
    return inner if sends else None


def let_go(
    place: SourceSpan | None, source: Source, *, collected: SourceSpan | None, is_read: bool
) -> Iterator[Fix]:
    """Yield fixes that clear a collection before `gc.collect()`, bound it, or do not fill it if nothing reads it."""
    statement = _statement(place, source)
    name = None if statement is None else _collection(source, statement)
    if statement is None or name is None:
        return
    yield from _emptied(source, name, collected)
    yield from _bounded(source, name)
    if not is_read:
        yield from source.fix(
            f"do not fill {name}, because nothing reads it", source.without(statement)
        )


def _collection(source: Source, statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        return source.of(function.value) if isinstance(function, ast.Attribute) else None
    if isinstance(statement, ast.AugAssign):
        return source.of(statement.target)
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
        return source.of(target.value if isinstance(target, ast.Subscript) else target)
    return None


def _emptied(source: Source, name: str, collected: SourceSpan | None) -> Iterator[Fix]:
    call = _statement(collected, source)
    root = re.split(r"[.\[]", name)[0]
    if call is not None and root in names_in(source.scope_of(call)):
        text = f"{name}.clear()"
        yield from source.fix(f"clear it first: {text}", source.insert_before(call, text))


def _bounded(source: Source, name: str) -> Iterator[Fix]:
    """Yield `deque(maxlen=100)` for a deque without a bound."""
    for call in source.calls("deque"):
        made = source.statement_of(call)
        target = made.targets[0] if isinstance(made, ast.Assign) else None
        leaf = name.rpartition(".")[2]
        is_it = target is not None and source.of(target).rpartition(".")[2] == leaf
        if is_it and keyword(call, "maxlen") is None and len(call.args) < 2:
            end = source.stretch(call)[1] - 1
            comma = ", " if call.args else ""
            yield from source.fix(
                f"keep the last {WINDOW}: deque(maxlen={WINDOW})",
                Edit(end, end, f"{comma}maxlen={WINDOW}"),
            )
