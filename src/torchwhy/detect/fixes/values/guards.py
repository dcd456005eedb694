"""Guards around one operand: edits that keep it inside the domain of its operation."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchwhy.detect.fixes.values.logarithms import from_logits, times_itself
from torchwhy.detect.fixes.values.logits import with_logits
from torchwhy.finding import Fix, Safety, SourceSpan
from torchwhy.source.calls import (
    is_own,
    keyword,
    operand_of,
    root_name,
    torch_name,
    word_of,
)
from torchwhy.source.edits import Edit, Source, in_brackets
from torchwhy.source.text import is_python, one_line

Guard = Callable[[str], str]
ARRAY_MODULES = ("np", "numpy")

LOG_BOUND = "1e-8"
ROOT_BOUND = "1e-12"
# The eps of torch's normalisations: rounding can make E[x²] − E[x]² slightly negative.
ROUNDING_BOUND = "1e-5"
DIVISOR_BOUND = "1e-8"
ROOTS = ("sqrt", "sqrt_", "pow", "pow_", "rsqrt", "cdist", "dist", "hypot", "std", "float_power")
DIVISIONS = ("div", "div_", "divide", "true_divide")
INVERSES = ("reciprocal", "rsqrt", "pow", "float_power")


def guarded(
    source: Source,
    node: ast.expr | None,
    guard: Guard,
    *,
    number: int = 0,
    safety: Safety = "changes-results",
    hides: bool = True,
) -> Iterator[Fix]:
    """Yield a fix that puts a guard around one operand of an expression.

    A guard `hides` what makes the operand bad, unless the operand is off by rounding only or a mask discards it.
    """
    operand = None if node is None else operand_of(source, node, number=number)
    if node is None or operand is None or isinstance(operand, ast.Constant):
        return
    text = guard(in_brackets(source.of(operand), operand))
    if isinstance(node, ast.Call) and operand in node.args:
        edit = source.replace(operand, text)  # an argument needs no parentheses
    else:
        text = in_brackets(text, ast.parse(text, mode="eval").body)
        edit = Edit(*source.in_own_brackets(operand), text)
    after = source.edited([edit])
    start, end = source.stretch(node)
    shown = after[start : end + len(after) - len(source.text)]
    yield from source.fix(f"write {one_line(shown)}", edit, safety=safety, hides=hides)


def operation_at(place: SourceSpan | None, source: Source) -> ast.expr | None:
    """Return the torch operation at a place; a call of a layer or of the program's own method is none."""
    node = source.at(place)
    return None if is_own(node) else node


def at_least(bound: str) -> Guard:
    """Return a guard that clamps a value from below."""
    return lambda text: f"{text}.clamp_min({bound})"


def at_most(bound: float) -> Guard:
    """Return a guard that clamps a value from above."""
    return lambda text: f"{text}.clamp(max={bound:g})"


def between(low: str, high: str) -> Guard:
    """Return a guard that clamps a value to an interval."""
    return lambda text: f"{text}.clamp({low}, {high})"


def plus(bound: str) -> Guard:
    """Return a guard that adds a small constant, for a value that is never negative."""

    def lifted(text: str) -> str:
        inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text
        is_plain = is_python(inner) and isinstance(ast.parse(inner, mode="eval").body, ast.BinOp)
        return f"{inner if is_plain else text} + {bound}"

    return lifted


def for_log(
    place: SourceSpan | None, source: Source, *, by_rounding: bool = False, is_masked: bool = False
) -> Iterator[Fix]:
    """Yield fixes for a logarithm: compute it from the logits in one step, or keep its operand above 0.

    `by_rounding` means that the operand is a difference that would be positive without rounding.
    """
    node = operation_at(place, source)
    if isinstance(node, ast.Call):
        yield from from_logits(source, node)
        yield from times_itself(source, node)
        if _module_of(node) in ARRAY_MODULES:
            name = _module_of(node)
            yield from guarded(source, node, lambda text: f"{name}.maximum({text}, {LOG_BOUND})")
            return
        if _module_of(node) == "math":
            yield from guarded(source, node, lambda text: f"max({text}, {LOG_BOUND})")
            return
    yield from with_logits(place, source)
    word = word_of(node)
    if word == "binary_cross_entropy":
        yield from guarded(source, node, between("1e-7", "1 - 1e-7"))
    elif word in ("logdet", "slogdet"):
        torch = torch_name(source) or "torch"
        jitter = "{0} + 1e-6 * {1}.eye({0}.shape[-1])"
        yield from guarded(source, node, lambda text: jitter.format(text, torch))
    elif word is not None and (word.startswith("log") or word in ("xlogy", "entr")):
        bound = "-1 + 1e-7" if word in ("log1p", "log1p_") else LOG_BOUND
        number = 1 if word == "xlogy" else 0
        hides = not by_rounding and not is_masked
        yield from guarded(source, node, at_least(bound), number=number, hides=hides)


def _module_of(node: ast.Call) -> str | None:
    return root_name(node.func)


def for_root(place: SourceSpan | None, source: Source, *, is_masked: bool = False) -> Iterator[Fix]:
    """Yield fixes for a root, whose slope at 0 is infinite: a small constant under it, or a lower bound."""
    node = operation_at(place, source)
    word = word_of(node)
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Pow):
        return
    if word in ("norm", "vector_norm") and isinstance(node, ast.Call):
        yield from _norm_written_out(source, node)
    elif isinstance(node, ast.BinOp) or word in ROOTS:
        yield from guarded(source, node, plus(ROOT_BOUND), hides=False)
        yield from guarded(source, node, at_least(ROOT_BOUND), hides=not is_masked)


def _norm_written_out(source: Source, node: ast.Call) -> Iterator[Fix]:
    value = operand_of(source, node)
    dimension = keyword(node, "dim")
    if value is None:
        return
    keeps = keyword(node, "keepdim")
    inside = f"dim={source.of(dimension)}" if dimension is not None else ""
    inside += f", keepdim={source.of(keeps)}" if keeps is not None else ""
    text = in_brackets(source.of(value), value)
    written = f"({text}.pow(2).sum({inside}) + {ROOT_BOUND}).sqrt()"
    yield from source.fix(f"write {one_line(written)}", source.replace(node, written))


def for_division(
    place: SourceSpan | None,
    source: Source,
    *,
    lowest: float = 0.0,
    highest: float = 0.0,
    hides: bool = True,
) -> Iterator[Fix]:
    """Yield fixes for a division by 0: a constant added to the divisor, or a lower bound.

    `lowest` and `highest` are the smallest and largest element of the divisor. A fix `hides` the 0 unless the
    dividend is 0 as well: then the quotient becomes 0 instead of a huge number.
    """
    node = operation_at(place, source)
    if node is None and place is not None:
        yield from _for_division_in_place(source, place.line, hides=hides)
        return
    word = word_of(node)
    if word in INVERSES or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)):
        yield from guarded(source, node, plus(DIVISOR_BOUND), hides=hides)
        yield from guarded(source, node, at_least(DIVISOR_BOUND), hides=hides)
        return
    divides = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod)
    if not divides and word not in DIVISIONS:
        return
    for guard in _divisor_guards(lowest, highest):
        yield from guarded(source, node, guard, number=1, hides=hides)
    divisor = None if node is None else operand_of(source, node, number=1)
    if isinstance(divisor, ast.Name) or word_of(divisor) == "len":
        yield from guarded(source, node, lambda text: f"max({text}, 1)", number=1, hides=hides)


def for_division_by_number(
    place: SourceSpan | None, source: Source, *, hides: bool
) -> Iterator[Fix]:
    """Yield fixes for a division by a number of Python that is 0, which has no methods of a tensor."""
    node = operation_at(place, source)
    divides = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod)
    if divides or word_of(node) in DIVISIONS:
        for bound in ("1", DIVISOR_BOUND):
            yield from guarded(source, node, upper_of(bound), number=1, hides=hides)


def upper_of(bound: str) -> Guard:
    """Return a guard that gives the larger one of a number and a bound."""
    return lambda text: f"max({text}, {bound})"


def _divisor_guards(lowest: float, highest: float) -> list[Guard]:
    """Return guards that leave the other elements of the divisor unchanged.

    A lower bound would change negative elements, and a bound of 1 would change fractions.
    """
    if lowest < 0:
        return [plus(DIVISOR_BOUND)]
    counts = [at_least("1")] if lowest.is_integer() and highest.is_integer() else []
    return [at_least(DIVISOR_BOUND), plus(DIVISOR_BOUND), *counts]


def _for_division_in_place(source: Source, line: int, *, hides: bool) -> Iterator[Fix]:
    statement = source.statement_at(line)
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Div):
        divisor = statement.value
        for guard in (at_least(DIVISOR_BOUND), plus(DIVISOR_BOUND)):
            text = guard(in_brackets(source.of(divisor), divisor))
            edit = source.replace(divisor, text)
            yield from source.fix(f"divide by {one_line(text)}", edit, hides=hides)


DOMAINS: dict[str, Guard] = {
    "acos": between("-1 + 1e-6", "1 - 1e-6"),
    "arccos": between("-1 + 1e-6", "1 - 1e-6"),
    "asin": between("-1 + 1e-6", "1 - 1e-6"),
    "arcsin": between("-1 + 1e-6", "1 - 1e-6"),
    "atanh": between("-1 + 1e-6", "1 - 1e-6"),
    "arctanh": between("-1 + 1e-6", "1 - 1e-6"),
    "erfinv": between("-1 + 1e-6", "1 - 1e-6"),
    "logit": between("1e-6", "1 - 1e-6"),
    "acosh": at_least("1 + 1e-6"),
    "sqrt": at_least(ROOT_BOUND),
    "sqrt_": at_least(ROOT_BOUND),
    "rsqrt": at_least(ROOT_BOUND),
    "pow": at_least(ROOT_BOUND),
    "lgamma": at_least("1e-4"),
    "digamma": at_least("1e-4"),
}


def for_domain(place: SourceSpan | None, source: Source, *, hides: bool = True) -> Iterator[Fix]:
    """Yield fixes for a function that got a value outside its domain; they hide it unless it is off by rounding."""
    node = operation_at(place, source)
    word = word_of(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        yield from guarded(source, node, at_least(ROOT_BOUND), hides=hides)
        yield from guarded(source, node, lambda text: f"{text}.abs()", hides=hides)
    elif word is not None and word in DOMAINS:
        yield from guarded(source, node, DOMAINS[word], hides=hides)
        if word in ("sqrt", "rsqrt"):
            yield from guarded(source, node, at_least(ROUNDING_BOUND), hides=hides)
