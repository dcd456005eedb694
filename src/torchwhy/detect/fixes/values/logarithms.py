"""Replaces the logarithm of a softmax, a sigmoid or a sum of exponentials by one function that cannot underflow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.finding import Fix
from torchwhy.source.bindings import names_in, uses, value_of_name
from torchwhy.source.calls import keyword, operand_of, torch_name, word_of
from torchwhy.source.edits import Edit, Source, in_brackets
from torchwhy.source.text import one_line

LONGEST_CHAIN = 6  # names and subscripts between a logarithm and the call that computes its operand


def from_logits(source: Source, node: ast.Call) -> Iterator[Fix]:
    """Yield one function for log(softmax(x)), log(sigmoid(x)) or log(sum(exp(x))), which cannot underflow."""
    operand = operand_of(source, node)
    found = None if operand is None else _unfolded(source, operand)
    if found is None:
        yield from _with_logits_named(source, operand)
        return
    inner, picked, folded = found
    text = _in_one_step(source, inner)
    if text is None:
        yield from _with_logits_named(source, operand)
        return
    removed = [source.remove(statement) for statement in folded]
    yield from source.fix(
        f"compute {one_line(text)} in one step, which cannot underflow",
        source.replace(node, text + picked),
        *removed,
        safety="safe",
    )


def _with_logits_named(source: Source, operand: ast.expr | None) -> Iterator[Fix]:
    """Yield the logits of `p = softmax(net(x))` under a name of their own, and every log(p) computed from them."""
    name = (
        next((one for one in ast.walk(operand) if isinstance(one, ast.Name)), None)
        if operand
        else None
    )
    value = value_of_name(source, name) if name is not None else None
    if name is None or not isinstance(value, ast.Call) or is_changed_in_place(source, name):
        return
    statement, given = source.statement_of(value), operand_of(source, value)
    scope = source.scope_of(name)
    if statement is None or given is None or word_of(value) not in ("softmax", "sigmoid"):
        return
    logits = "logits" if "logits" not in names_in(scope) else f"{name.id}_logits"
    edits: list[Edit | None] = [
        source.insert_before(statement, f"{logits} = {source.of(given)}"),
        source.replace(given, logits),
    ]
    for call in source.calls("log", within=scope):
        text = _from_named(source, call, value, name=name.id, logits=logits)
        edits += [source.replace(call, text)] if text is not None else []
    if len(edits) > 2:
        title = f"compute the logarithm from the logits, which cannot underflow: {edits[-1].text if edits[-1] else ''}"
        yield from source.fix(title, *edits, safety="safe")


def _from_named(
    source: Source, call: ast.Call, value: ast.Call, *, name: str, logits: str
) -> str | None:
    """Return log(p), log(p[i]) or log(1 - p) computed from the logits of p; None for other logarithms."""
    operand, torch, picked = operand_of(source, call), torch_name(source), ""
    while isinstance(operand, ast.Subscript):
        picked = source.of(operand)[len(source.of(operand.value)) :] + picked
        operand = operand.value
    is_rest = isinstance(operand, ast.BinOp) and isinstance(operand.op, ast.Sub)
    if is_rest and isinstance(operand, ast.BinOp) and source.of(operand.left) in ("1", "1.0"):
        if word_of(value) != "sigmoid" or source.of(operand.right) != name:
            return None
        return f"{torch}.nn.functional.logsigmoid(-{logits})"
    if not isinstance(operand, ast.Name) or operand.id != name or torch is None:
        return None
    if word_of(value) == "sigmoid":
        return f"{torch}.nn.functional.logsigmoid({logits}){picked}"
    function, given = source.of(value.func), operand_of(source, value)
    rest = source.of(value)[len(function) :]
    if given is None or given not in value.args:  # x.softmax(1)
        return f"{logits}.log_softmax{rest}{picked}"
    text = rest.replace(source.of(given), logits, 1)
    return f"{function.removesuffix('softmax')}log_softmax{text}{picked}"


def times_itself(source: Source, node: ast.Call) -> Iterator[Fix]:
    """Yield xlogy(p, p) for p * log(p): it is 0 where p is 0."""
    torch, operand = torch_name(source), operand_of(source, node)
    product = source.parents.get(node)
    if torch is None or operand is None or word_of(node) != "log":
        return
    if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
        return
    other = product.left if product.right is node else product.right
    text = source.of(operand)
    is_itself = source.of(other) == text
    is_share = isinstance(operand, ast.BinOp) and isinstance(operand.op, ast.Div)
    if is_share and isinstance(operand, ast.BinOp):
        is_itself = source.of(operand.left) == source.of(other)
    if is_itself:
        written = f"{torch}.xlogy({source.of(other)}, {text})"
        yield from source.fix(
            f"write {one_line(written)}, which is 0 at 0", source.replace(product, written)
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
            if value is None or is_changed_in_place(source, operand):
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


def is_changed_in_place(source: Source, name: ast.Name) -> bool:
    """Tell whether the scope of a variable writes into its value: `p[0] = 1`, `p += 1`, `p.clamp_(0)`."""
    for node in ast.walk(source.scope_of(name)):
        written: ast.AST | None = None
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            written = node.value
        elif isinstance(node, ast.AugAssign):
            written = node.target
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            word = node.func.attr
            written = node.func.value if word.endswith("_") and not word.endswith("__") else None
        while isinstance(written, ast.Subscript | ast.Attribute):
            written = written.value
        if isinstance(written, ast.Name) and written.id == name.id:
            return True
    return False


def _arguments(value: ast.expr) -> Iterator[ast.AST]:
    given = value.args if isinstance(value, ast.Call) else [value]
    yield from (part for one in given for part in ast.walk(one))


def _in_one_step(source: Source, inner: ast.expr) -> str | None:
    torch = torch_name(source)
    if isinstance(inner, ast.BinOp):
        return _softplus(source, inner, torch) or _of_complement(source, inner, torch)
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


def _softplus(source: Source, inner: ast.BinOp, torch: str | None) -> str | None:
    """Return softplus(x) for log(1 + exp(x))."""
    for one, other in ((inner.left, inner.right), (inner.right, inner.left)):
        is_one = isinstance(one, ast.Constant) and one.value == 1
        exponent = operand_of(source, other) if word_of(other) == "exp" else None
        if torch is not None and is_one and exponent is not None and isinstance(inner.op, ast.Add):
            return f"{torch}.nn.functional.softplus({source.of(exponent)})"
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
