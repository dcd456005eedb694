"""Edits of sizes and axes: the sizes of a layer, axes swapped instead of reshaped, arguments in order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import permutations

from torchwhy.diagnosis import Shape
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.analyses.written_numbers import written
from torchwhy.source.calls import is_method, keyword, word_of
from torchwhy.source.edits import Edit, Source, in_brackets
from torchwhy.source.text import one_line

DOTTED_NAME = re.compile(r"[\w.]+")
LAYERS = ("Linear", "LazyLinear", "Conv1d", "Conv2d", "Conv3d", "Bilinear")
RECURRENT = ("GRU", "LSTM", "RNN", "MultiheadAttention")
FORGOTTEN_ROWS = 2  # Programs forget one row for padding and one for unknown words.
MOST_AXES = 5  # Five axes have 120 orders; programs rarely reshape tensors with more.
MOST_ORDERS = 2  # Of the orders that fit, those that move the fewest axes are proposed.


def resized(place: SourceSpan | None, source: Source, *, right: int, wrong: int) -> Iterator[Fix]:
    """Yield fixes that replace the wrong number, wherever it is in the statement at the place."""
    if place is None:
        return
    node, statement = source.at(place), source.statement_at(place.line)
    for part in ast.walk(statement) if statement is not None else ():
        if isinstance(part, ast.Constant) and part.value == wrong and part.value is not True:
            title = f"write {right} instead of {wrong} (line {part.lineno})"
            yield from source.fix(title, source.replace(part, str(right)))
    makes = isinstance(node, ast.Call) and (word_of(node) or "")[:1].isupper()
    given = node.args[0] if makes and isinstance(node, ast.Call) and node.args else None
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.BinOp):
        given = node
    if given is not None and not isinstance(given, ast.Constant):
        yield from _value_replaced(source, given, right=right, wrong=wrong)


def _value_replaced(source: Source, given: ast.expr, *, right: int, wrong: int) -> Iterator[Fix]:
    """Yield fixes that replace the value of an expression: by a multiple, there, or where the number is written."""
    if right % wrong == 0:
        text = f"{right // wrong} * {in_brackets(source.of(given), given)}"
        title = f"write {one_line(text)} instead of {one_line(source.of(given))}"
        yield from source.fix(title, source.replace(given, text))
    title = f"write {right} instead of {one_line(source.of(given))}"
    yield from source.fix(title, source.replace(given, str(right)))
    place = written(source, given)
    if place is not None and place.number == wrong:
        yield from place.source.fix(
            f"write {right} instead of {wrong}", place.source.replace(place.node, str(right))
        )


def factors_made_equal(
    made_at: Sequence[SourceSpan], source: Source, *, left: int, right: int
) -> Iterator[Fix]:
    """Yield fixes that change the size of a factor if a number in its constructor gives it."""
    for span in made_at:
        node = source.at(span) if span.file == source.file else None
        for part in ast.walk(node) if node is not None else ():
            for wrong, wanted in ((right, left), (left, right)):
                if isinstance(part, ast.Constant) and part.value == wrong:
                    yield from source.fix(
                        f"write {wanted} instead of {wrong} (line {part.lineno})",
                        source.replace(part, str(wanted)),
                    )


def more_outputs(source: Source, *, right: int, wrong: int) -> Iterator[Fix]:
    """Yield a last layer with an output for every label."""
    title = f"give the last layer {right} outputs"
    layers = sorted(source.calls(*LAYERS), key=lambda call: call.lineno, reverse=True)
    for call in layers:
        given = keyword(call, "out_features", "out_channels")
        if given is None and len(call.args) > 1:
            given = call.args[1]
        place = written(source, given)
        if given is None or place is None or place.number != wrong:
            continue
        yield from place.source.fix(title, place.source.replace(place.node, str(right)))
        if place.node is not given:
            yield from source.fix(title, source.replace(given, str(right)))
        return


def ignored_label(place: SourceSpan | None, source: Source, *, label: int) -> Iterator[Fix]:
    """Yield a loss that ignores the samples with a label."""
    node = source.at(place)
    losses = ("cross_entropy", "nll_loss")
    calls = [node] if isinstance(node, ast.Call) and word_of(node) in losses else []
    for call in calls or list(source.calls("CrossEntropyLoss", "NLLLoss")):
        end = source.stretch(call)[1] - 1
        comma = ", " if call.args or call.keywords else ""
        text = f"ignore_index={label}"
        yield from source.fix(f"ignore these samples: {text}", Edit(end, end, comma + text))


def more_rows(source: Source, *, table: str, right: int, wrong: int) -> Iterator[Fix]:
    """Yield an embedding with a row for every index."""
    title, missing = f"construct {table} with {right} rows", right - wrong
    for call in source.calls("Embedding", "EmbeddingBag"):
        made = source.statement_of(call)
        named = source.of(made.targets[0]) if isinstance(made, ast.Assign) else ""
        given = keyword(call, "num_embeddings") or (call.args[0] if call.args else None)
        if named.rpartition(".")[2] != table.rpartition(".")[2] or given is None:
            continue
        place = written(source, given)
        if place is not None and place.number == wrong:
            yield from place.source.fix(title, place.source.replace(place.node, str(right)))
        if place is None and missing <= FORGOTTEN_ROWS:
            text = f"{in_brackets(source.of(given), given)} + {missing}"
            yield from source.fix(f"{title}: {text}", source.replace(given, text))
        yield from source.fix(title, source.replace(given, str(right)))


def sized_by_batch(
    place: SourceSpan | None, source: Source, *, name: str, usual: int, rows_of: str, part: str
) -> Iterator[Fix]:
    """Yield a tensor with the size of the current batch instead of a full batch of `usual` samples.

    `name` is the tensor, `rows_of` a tensor with as many rows as the batch, `part` what the batch needs of `name`.
    """
    node = source.at(place)
    if not isinstance(node, ast.Call) or DOTTED_NAME.fullmatch(name) is None:
        return
    scope = source.scope_of(node)
    beside = [
        call
        for call in source.calls(word_of(node) or "", within=scope)
        if source.scope_of(call) is scope
    ]
    text = f"{rows_of}.shape[0]"
    # If two states have this size, the second fails once the first is fixed, so both change together first.
    for calls in dict.fromkeys((tuple(beside), (node,))):
        places = [part for call in calls for part in _numbers_like(source, call, usual)]
        if places and all(_is_bound_before(source, rows_of, call) for call in calls):
            edits = [source.replace(one, text) for one in places]
            yield from source.fix(f"take the size from the batch: {text}", *edits)
    for call in (one for one in ast.walk(source.tree) if isinstance(one, ast.Call)):
        for given in call.args:
            if source.of(given) == name and call.lineno > node.lineno:
                yield from source.fix(f"use {part}", source.replace(given, part))


def _is_bound_before(source: Source, name: str, call: ast.Call) -> bool:
    """Tell whether a name has a value at a call: it is bound above it, or not in this scope at all."""
    scope = source.scope_of(call)
    if isinstance(scope, ast.FunctionDef) and any(one.arg == name for one in scope.args.args):
        return True
    bound = [
        one.lineno
        for one in ast.walk(scope)
        if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)
    ]
    return not bound or min(bound) < call.lineno


def _numbers_like(source: Source, call: ast.Call, wanted: float) -> Iterator[ast.expr]:
    """Yield the arguments of a call that have this value, written there or elsewhere."""
    for one in call.args:
        for part in ast.walk(one):
            place = written(source, part) if isinstance(part, ast.expr) else None
            if place is not None and place.number == wanted and isinstance(part, ast.expr):
                yield part


def axes_swapped(
    place: SourceSpan | None, source: Source, *, before: Shape, after: Shape
) -> Iterator[Fix]:
    """Yield a permutation of the axes instead of, before or after a reshape."""
    node = source.at(place)
    if not isinstance(node, ast.Call) or word_of(node) not in ("view", "reshape", "resize"):
        return
    if max(len(before), len(after)) > MOST_AXES:
        return
    value, sizes = _reshaped(source, node)
    if value is None:
        return
    text = in_brackets(source.of(value), value)
    for written_anew in _swapped(text, sizes, before=before, after=after, word=word_of(node) or ""):
        yield from source.fix(
            f"swap the axes: {one_line(written_anew)}", source.replace(node, written_anew)
        )


def _reshaped(source: Source, node: ast.Call) -> tuple[ast.expr | None, list[str]]:
    """Return the reshaped expression, and the source of its new sizes."""
    arguments = list(node.args)
    value: ast.expr | None
    if is_method(source, node) and isinstance(node.func, ast.Attribute):
        value = node.func.value
    else:
        value = arguments.pop(0) if arguments else None
    if len(arguments) == 1 and isinstance(arguments[0], ast.Tuple | ast.List):
        arguments = arguments[0].elts
    return value, [source.of(one) for one in arguments]


def _swapped(
    text: str, sizes: list[str], *, before: list[int], after: list[int], word: str
) -> Iterator[str]:
    identity = tuple(range(len(before)))
    orders = sorted(permutations(identity), key=_moves)[1:]
    if sorted(before) == sorted(after):
        fitting = [one for one in orders if [before[axis] for axis in one] == after]
        yield from (f"{text}{_permuted(one)}" for one in fitting[:1])
        return
    if len(sizes) != len(after):
        return
    shape = ", ".join(sizes)
    merged = [one for one in orders if _joins([before[axis] for axis in one], after)]
    yield from (f"{text}{_permuted(one)}.reshape({shape})" for one in merged[:MOST_ORDERS])
    # `lying` has the axes of the result in memory order; `one` then moves each to its place.
    for one in sorted(permutations(range(len(after))), key=_moves)[1:]:
        lying = [after[axis] for axis in _inverse(one)]
        if _joins(lying, before):
            parts = ", ".join(sizes[axis] for axis in _inverse(one))
            yield f"{text}.{word}({parts}){_permuted(one)}"
            return


def _moves(order: Sequence[int]) -> int:
    """Return how many pairs of axes an order swaps; fewer swaps are more likely what the author meant."""
    return sum(first > second for place, first in enumerate(order) for second in order[place + 1 :])


def _inverse(order: Sequence[int]) -> list[int]:
    return [order.index(axis) for axis in range(len(order))]


def _joins(parts: list[int], whole: list[int]) -> bool:
    """Tell whether neighbours in `parts` multiply to the sizes in `whole`, in order."""
    left = list(parts)
    for size in whole:
        product = 1
        while left and product < size:
            product *= left.pop(0)
        if product != size:
            return False
    return all(one == 1 for one in left)


def _permuted(order: Sequence[int]) -> str:
    moved = [axis for axis, source in enumerate(order) if axis != source]
    if len(moved) == 2:
        return f".transpose({moved[0]}, {moved[1]})"
    return f".permute({', '.join(map(str, order))})"


def batch_first_where_made(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `batch_first=True` for the recurrent layer that is called at the place."""
    node = source.at(place)
    called = source.of(node.func) if isinstance(node, ast.Call) else ""
    for call in source.calls(*RECURRENT):
        made = source.statement_of(call)
        named = source.of(made.targets[0]) if isinstance(made, ast.Assign) else ""
        if called and named == called and keyword(call, "batch_first") is None and call.args:
            end = max(source.stretch(one)[1] for one in (*call.args, *_values(call)))
            yield from source.fix("set batch_first=True", Edit(end, end, ", batch_first=True"))


def _values(call: ast.Call) -> list[ast.expr]:
    return [one.value for one in call.keywords]


def arguments_in_order(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the two arguments of a loss in the right order."""
    node = source.at(place)
    if isinstance(node, ast.Call) and len(node.args) >= 2:
        first, second = node.args[:2]
        yield from source.fix(
            f"pass {one_line(source.of(second))} to the loss first",
            source.replace(first, source.of(second)),
            source.replace(second, source.of(first)),
        )


def time_first(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a CTC loss whose first argument has time as first dimension."""
    node = source.at(place)
    if isinstance(node, ast.Call) and node.args:
        first = node.args[0]
        text = source.of(first)
        held = text if isinstance(first, (ast.Name, ast.Attribute, ast.Call)) else f"({text})"
        swapped = f"{held}.transpose(0, 1)"
        yield from source.fix(
            f"pass {one_line(swapped)} to the loss", source.replace(first, swapped)
        )


def honest_length(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a dataset whose length is that of the data it indexes."""
    node = source.at(place)
    scope = None if node is None else source.scope_of(node)
    if not isinstance(node, ast.Subscript) or getattr(scope, "name", "") != "__getitem__":
        return
    holder = source.parents.get(scope) if scope is not None else None
    for one in holder.body if isinstance(holder, ast.ClassDef) else ():
        if isinstance(one, ast.FunctionDef) and one.name == "__len__":
            for part in ast.walk(one):
                if isinstance(part, ast.Return) and part.value is not None:
                    text = f"len({source.of(node.value)})"
                    yield from source.fix(
                        f"return {text} in __len__", source.replace(part.value, text)
                    )


def eps_where_made(source: Source) -> Iterator[Fix]:
    """Yield a normalisation layer with the default eps instead of eps=0."""
    for call in (one for one in ast.walk(source.tree) if isinstance(one, ast.Call)):
        given = keyword(call, "eps")
        place = written(source, given)
        if given is not None and place is not None and place.number < 1e-12:
            yield from place.source.fix("set eps=1e-5", place.source.replace(place.node, "1e-5"))
