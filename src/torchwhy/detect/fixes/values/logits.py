"""Fixes that compute a binary cross entropy from the logits instead of the probabilities."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.bindings import uses, value_of_name
from torchwhy.source.calls import operand_of, word_of
from torchwhy.source.edits import Edit, Source

TITLE = "compute the loss from the logits: {}, which cannot overflow"


def with_logits(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the loss at a place with logits for probabilities, without the sigmoid before it.

    The sigmoid is in the call itself, in the assignment of its argument, or at the end of the model.
    """
    node = source.at(place)
    if not isinstance(node, ast.Call) or not node.args:
        return
    renamed = _renamed(source, node)
    if renamed is None:
        return
    name, edits = renamed
    given = node.args[0]
    value = value_of_name(source, given) if isinstance(given, ast.Name) else given
    if isinstance(given, ast.Name) and uses(given.id, within=source.scope_of(given)) > 1:
        return  # The probabilities are used elsewhere, too.
    inner = operand_of(source, value) if word_of(value) == "sigmoid" and value is not None else None
    if inner is not None and value is not None:
        edits = [*edits, source.replace(value, source.of(inner))]
        yield from source.fix(TITLE.format(name), *edits)
    elif isinstance(value, ast.Call):
        for last in _sigmoids_of_models(source):
            yield from source.fix(TITLE.format(name), *edits, last)


def _renamed(source: Source, node: ast.Call) -> tuple[str, list[Edit]] | None:
    """Return the loss on logits, and the edits that put it in place of the one on probabilities."""
    if word_of(node) == "binary_cross_entropy":
        function = source.of(node.func)
        name = f"{function}_with_logits"
        return name, [source.replace(node.func, name)]
    made = list(source.calls("BCELoss"))
    if len(made) != 1:
        return None
    name = source.of(made[0].func).replace("BCELoss", "BCEWithLogitsLoss")
    return name, [source.replace(made[0].func, name)]


def _sigmoids_of_models(source: Source) -> Iterator[Edit]:
    """Yield the edits that take a sigmoid off the end of a model: of a `Sequential`, or of what `forward` returns."""
    for call in source.calls("Sequential"):
        if len(call.args) > 1 and word_of(call.args[-1]) == "Sigmoid":
            before, last = source.stretch(call.args[-2])[1], source.stretch(call.args[-1])[1]
            yield Edit(before, last, "")
    for function in ast.walk(source.tree):
        if not isinstance(function, ast.FunctionDef) or function.name != "forward":
            continue
        returned = [one.value for one in ast.walk(function) if isinstance(one, ast.Return)]
        if len(returned) == 1 and returned[0] is not None and word_of(returned[0]) == "sigmoid":
            inner = operand_of(source, returned[0])
            if inner is not None:
                yield source.replace(returned[0], source.of(inner))
