"""Edits that clamp a variable once for several operations that need it positive, such as a variance or scale."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.bindings import names_in
from torchwhy.source.calls import module_names, operand_of, word_of
from torchwhy.source.edits import Source

# torch's GaussianNLLLoss clamps its variance to 1e-6. With large errors such a variance still dominates the loss,
# so a larger bound is proposed as well.
BOUNDS = ("1e-6", "1e-3")
NEED_POSITIVE = ("log", "log2", "log10", "sqrt", "rsqrt", "reciprocal")
MULTIPLE = (
    ast.Name,
    ast.Attribute,
    ast.Constant,
    ast.BinOp,
    ast.Mult,
    ast.Div,
    ast.expr_context,
)


def for_every_use(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a clamp above 0 for a variable that the function needs positive in another place as well.

    If each place had its own clamp, the two would use different values of one quantity.
    """
    node = source.at(place)
    statement = None if node is None else source.statement_of(node)
    if node is None or statement is None or not isinstance(node, ast.Call | ast.BinOp):
        return
    operand = operand_of(source, node, number=1 if isinstance(node, ast.BinOp) else 0)
    if operand is None or not isinstance(source.scope_of(node), ast.FunctionDef):
        return
    names = names_in(operand) - module_names(source)
    # A multiple of the variable has its sign. A norm or a sum may be positive although the variable is not.
    if len(names) != 1 or any(not isinstance(part, MULTIPLE) for part in ast.walk(operand)):
        return
    (name,) = names
    if name == "self" or not any(name in needed for needed in _needed_elsewhere(source, node)):
        return
    for bound in BOUNDS:
        text = f"{name} = {name}.clamp_min({bound})"
        yield from source.fix(
            f"clamp it once for all its uses: {text}",
            source.insert_before(statement, text),
            hides=True,
        )


def _needed_elsewhere(source: Source, node: ast.expr) -> Iterator[set[str]]:
    """Yield the names in each operand that must be positive elsewhere in the function: divisors, logarithms, roots."""
    for other in ast.walk(source.scope_of(node)):
        if other is node:
            continue
        if isinstance(other, ast.BinOp) and isinstance(other.op, ast.Div):
            yield names_in(other.right)
        elif isinstance(other, ast.Call) and word_of(other) in NEED_POSITIVE:
            operand = operand_of(source, other)
            yield names_in(operand) if operand is not None else set()
