"""Replaces the logarithm of a softmax, a sigmoid or a sum of exponentials by one function that cannot underflow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.finding import Fix
from torchwhy.source.bindings import uses, value_of_name
from torchwhy.source.calls import keyword, operand_of, torch_name, word_of
from torchwhy.source.edits import Source, in_brackets
from torchwhy.source.text import one_line

LONGEST_CHAIN = 6  # names and subscripts between a logarithm and the call that computes its operand


def from_logits(source: Source, node: ast.Call) -> Iterator[Fix]:
    """Yield one function for log(softmax(x)), log(sigmoid(x)) or log(sum(exp(x))), which cannot underflow."""
    operand = operand_of(source, node)
    found = None if operand is None else _unfolded(source, operand)
    if found is None:
        return
    inner, picked, folded = found
    text = _in_one_step(source, inner)
    if text is None:
        return
    removed = [source.remove(statement) for statement in folded]
    yield from source.fix(
        f"compute {one_line(text)} in one step, which cannot underflow",
        source.replace(node, text + picked),
        *removed,
        safety="safe",
    )


def _unfolded(source: Source, operand: ast.expr) -> tuple[ast.expr, str, list[ast.stmt]] | None:
    """Return the call that computes a value, the subscripts applied to it, and the assignments that become unused.

    None if the name between is used elsewhere and the edit would duplicate a call in it, such as `model(x)`.
    """
    picked = ""
    folded: list[ast.stmt] = []
    for _ in range(LONGEST_CHAIN):
        if isinstance(operand, ast.Subscript):  # log(p[i]) is log(p)[i]
            picked = source.of(operand)[len(source.of(operand.value)) :] + picked
            operand = operand.value
        elif isinstance(operand, ast.Name):
            value = value_of_name(source, operand)
            if value is None:
                return None
            used = uses(operand.id, within=source.scope_of(operand))
            statement = source.statement_of(value)
            if used == 1 and statement is not None:
                folded.append(statement)
            elif any(isinstance(part, ast.Call) for part in _arguments(value)):
                return None
            operand = value
        else:
            return operand, picked, folded
    return None


def _arguments(value: ast.expr) -> Iterator[ast.AST]:
    given = value.args if isinstance(value, ast.Call) else [value]
    yield from (part for one in given for part in ast.walk(one))


def _in_one_step(source: Source, inner: ast.expr) -> str | None:
    torch = torch_name(source)
    if isinstance(inner, ast.BinOp):
        return _of_complement(source, inner, torch)
    if not isinstance(inner, ast.Call):
        return None
    word, text = word_of(inner), source.of(inner)
    function = source.of(inner.func)
    if word == "softmax":
        return text.replace(function, function.removesuffix("softmax") + "log_softmax", 1)
    value = operand_of(source, inner)
    if word == "sigmoid" and torch is not None and value is not None:
        return f"{torch}.nn.functional.logsigmoid({source.of(value)})"
    if (
        word == "sum"
        and torch is not None
        and word_of(value) == "exp"
        and isinstance(value, ast.Call)
    ):
        exponent = operand_of(source, value)
        dimension = keyword(inner, "dim", "axis") or operand_of(source, inner, number=1)
        if exponent is None or dimension is None:
            return None
        keeps = keyword(inner, "keepdim", "keepdims")
        kept = f", keepdim={source.of(keeps)}" if keeps is not None else ""
        return f"{torch}.logsumexp({source.of(exponent)}, dim={source.of(dimension)}{kept})"
    return None


def _of_complement(source: Source, inner: ast.BinOp, torch: str | None) -> str | None:
    """Return logsigmoid(-x) for log(1 - sigmoid(x))."""
    is_complement = (
        isinstance(inner.op, ast.Sub)
        and isinstance(inner.left, ast.Constant)
        and inner.left.value == 1
    )
    right = inner.right
    call = right if isinstance(right, ast.Call) else value_of_name(source, right)
    if (
        not is_complement
        or torch is None
        or word_of(call) != "sigmoid"
        or not isinstance(call, ast.Call)
    ):
        return None
    value = operand_of(source, call)
    if value is None or any(isinstance(part, ast.Call) for part in ast.walk(value)):
        return None
    return f"{torch}.nn.functional.logsigmoid(-{in_brackets(source.of(value), value)})"
