"""Guards around one operand: edits that keep it inside the domain of its operation."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

from torchwhy.detect.fixes.values.logarithms import from_logits
from torchwhy.finding import Fix, Safety, SourceSpan
from torchwhy.source.bindings import assignments, names_in
from torchwhy.source.calls import (
    is_method,
    is_own,
    keyword,
    module_names,
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
LARGEST_EXPONENT = 80  # exp(80) = 5.5e34 leaves room for a sum and a product in float32
MILD_EXPONENT = 10  # exp(10) = 22026: for losses that one huge value would dominate


def guarded(
    source: Source,
    node: ast.expr | None,
    guard: Guard,
    *,
    number: int = 0,
    safety: Safety = "changes-results",
) -> Iterator[Fix]:
    """Yield a fix that puts a guard around one operand of an expression."""
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
    yield from source.fix(f"write {one_line(shown)}", edit, safety=safety)


def _operation(place: SourceSpan | None, source: Source) -> ast.expr | None:
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


def for_log(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield fixes for a logarithm: compute it from the logits in one step, or keep its operand above 0."""
    node = _operation(place, source)
    if isinstance(node, ast.Call):
        yield from from_logits(source, node)
        if _module_of(node) in ARRAY_MODULES:
            name = _module_of(node)
            yield from guarded(source, node, lambda text: f"{name}.maximum({text}, {LOG_BOUND})")
            return
        if _module_of(node) == "math":
            yield from guarded(source, node, lambda text: f"max({text}, {LOG_BOUND})")
            return
    word = word_of(node)
    if word == "binary_cross_entropy":
        yield from guarded(source, node, between("1e-7", "1 - 1e-7"))
    elif word in ("logdet", "slogdet"):
        torch = torch_name(source) or "torch"
        jitter = "{0} + 1e-6 * {1}.eye({0}.shape[-1])"
        yield from guarded(source, node, lambda text: jitter.format(text, torch))
    elif word is not None and (word.startswith("log") or word in ("xlogy", "entr")):
        bound = "-1 + 1e-7" if word in ("log1p", "log1p_") else LOG_BOUND
        yield from guarded(source, node, at_least(bound), number=1 if word == "xlogy" else 0)


def _module_of(node: ast.Call) -> str | None:
    return root_name(node.func)


def for_root(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield fixes for a root, whose slope at 0 is infinite: a small constant under it, or a lower bound."""
    node = _operation(place, source)
    word = word_of(node)
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Pow):
        return
    if word in ("norm", "vector_norm") and isinstance(node, ast.Call):
        yield from _norm_written_out(source, node)
    elif isinstance(node, ast.BinOp) or word in ROOTS:
        yield from guarded(source, node, plus(ROOT_BOUND))
        yield from guarded(source, node, at_least(ROOT_BOUND))


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
    place: SourceSpan | None, source: Source, *, lowest: float = 0.0, highest: float = 0.0
) -> Iterator[Fix]:
    """Yield fixes for a division by 0: a constant added to the divisor, or a lower bound.

    `lowest` and `highest` are the smallest and largest element of the divisor.
    """
    node = _operation(place, source)
    if node is None and place is not None:
        yield from _for_division_in_place(source, place.line)
        return
    word = word_of(node)
    if word in INVERSES or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)):
        yield from guarded(source, node, plus(DIVISOR_BOUND))
        yield from guarded(source, node, at_least(DIVISOR_BOUND))
        return
    divides = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod)
    if not divides and word not in DIVISIONS:
        return
    for guard in _divisor_guards(lowest, highest):
        yield from guarded(source, node, guard, number=1)
    divisor = None if node is None else operand_of(source, node, number=1)
    if isinstance(divisor, ast.Name) or word_of(divisor) == "len":
        yield from guarded(source, node, lambda text: f"max({text}, 1)", number=1)


def _divisor_guards(lowest: float, highest: float) -> list[Guard]:
    """Return guards that leave the other elements of the divisor unchanged.

    A lower bound would change negative elements, and a bound of 1 would change fractions.
    """
    if lowest < 0:
        return [plus(DIVISOR_BOUND)]
    counts = [at_least("1")] if lowest.is_integer() and highest.is_integer() else []
    return [at_least(DIVISOR_BOUND), plus(DIVISOR_BOUND), *counts]


def _for_division_in_place(source: Source, line: int) -> Iterator[Fix]:
    statement = source.statement_at(line)
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Div):
        divisor = statement.value
        for guard in (at_least(DIVISOR_BOUND), plus(DIVISOR_BOUND)):
            text = guard(in_brackets(source.of(divisor), divisor))
            yield from source.fix(f"divide by {one_line(text)}", source.replace(divisor, text))


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


def for_domain(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield fixes for a function that got a value outside its domain."""
    node = _operation(place, source)
    word = word_of(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        yield from guarded(source, node, at_least(ROOT_BOUND))
        yield from guarded(source, node, lambda text: f"{text}.abs()")
    elif word is not None and word in DOMAINS:
        yield from guarded(source, node, DOMAINS[word])
        if word in ("sqrt", "rsqrt"):
            yield from guarded(source, node, at_least(ROUNDING_BOUND))


def for_exp(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield fixes for an exponential that overflows: one torch function for the formula, or a clamped exponent."""
    node = _operation(place, source)
    if isinstance(node, ast.Call):
        yield from _as_sigmoid(source, node)
        yield from _as_logsumexp(source, node)
        yield from _shifted(source, node)
    if word_of(node) in ("cosh", "sinh"):
        yield from guarded(source, node, between(f"-{LARGEST_EXPONENT}", f"{LARGEST_EXPONENT}"))
    elif word_of(node) in ("exp", "exp_", "expm1", "exp2"):
        yield from guarded(source, node, at_most(LARGEST_EXPONENT))
        yield from guarded(source, node, at_most(MILD_EXPONENT))
        yield from _bounded_where_made(source, node)
    else:  # a loss or distribution that computes the exponential internally
        whole = source.at(place)
        for bound in (LARGEST_EXPONENT, MILD_EXPONENT):
            yield from guarded(source, whole, at_most(bound))


def _as_sigmoid(source: Source, node: ast.Call) -> Iterator[Fix]:
    """Yield sigmoid(z) for 1 / (1 + exp(-z))."""
    torch, value = torch_name(source), operand_of(source, node)
    total = source.parents.get(node)
    whole = None if total is None else source.parents.get(total)
    if (
        torch is not None
        and isinstance(value, ast.UnaryOp)
        and isinstance(value.op, ast.USub)
        and isinstance(total, ast.BinOp)
        and isinstance(total.op, ast.Add)
        and isinstance(whole, ast.BinOp)
        and isinstance(whole.op, ast.Div)
        and whole.right is total
        and isinstance(whole.left, ast.Constant)
        and whole.left.value == 1
    ):
        text = f"{torch}.sigmoid({source.of(value.operand)})"
        yield from source.fix(f"write {one_line(text)}", source.replace(whole, text), safety="safe")


def _as_logsumexp(source: Source, node: ast.Call) -> Iterator[Fix]:
    """Yield logsumexp(x) for log(sum(exp(x))), if this is the inner exp."""
    for outer in source.calls("log"):
        if node in ast.walk(outer) and outer is not node:
            yield from from_logits(source, outer)
    statement = source.statement_of(node)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        for outer in source.calls("log", within=source.scope_of(node)):
            inner = operand_of(source, outer)
            if isinstance(target, ast.Name) and inner is not None and target.id in source.of(inner):
                yield from from_logits(source, outer)


def _shifted(source: Source, node: ast.Call) -> Iterator[Fix]:
    """Yield exp(x - max(x)) in a softmax written by hand; elsewhere it would change the result."""
    statement, value = source.statement_of(node), operand_of(source, node)
    if not isinstance(statement, ast.Assign) or statement.value is not node or value is None:
        return
    name = source.of(statement.targets[0])
    for division in ast.walk(source.scope_of(node)):
        if not isinstance(division, ast.BinOp) or not isinstance(division.op, ast.Div):
            continue
        total = division.right
        if (
            source.of(division.left) != name
            or word_of(total) != "sum"
            or not isinstance(total, ast.Call)
        ):
            continue
        summed, dimension = operand_of(source, total), keyword(total, "dim", "axis")
        if summed is None or source.of(summed) != name or dimension is None:
            continue
        text = in_brackets(source.of(value), value)
        shifted = f"{text} - {text}.amax(dim={source.of(dimension)}, keepdim=True)"
        edit = source.replace(value, shifted)
        if is_method(source, node):
            edit = Edit(*source.in_own_brackets(value), f"({shifted})")
        yield from source.fix(
            f"subtract the largest exponent first: {one_line(shifted)}", edit, safety="safe"
        )


def _bounded_where_made(source: Source, node: ast.expr | None) -> Iterator[Fix]:
    """Yield a clamp right after the assignment of the exponent, so that it covers every use of the name."""
    value = None if node is None else operand_of(source, node)
    modules = module_names(source)
    names = sorted(names_in(value) - modules) if value is not None else []
    if (
        value is None
        or len(names) != 1
        or any(isinstance(part, ast.Call) for part in ast.walk(value))
    ):
        return
    made = assignments(names[0], within=source.scope_of(value))
    if len(made) == 1 and isinstance(made[0], ast.Assign):
        text = f"{names[0]} = {names[0]}.clamp(max={MILD_EXPONENT})"
        yield from source.fix(
            f"clamp it where it is assigned: {text}", source.insert_after(made[0], text)
        )


def for_masked(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a guard for the operand of a masked operation: the mask hides its value, but not its gradient."""
    node = _operation(place, source)
    inner_operation = _operation_inside(source, node)
    if node is not None and inner_operation is not None:
        assert place is not None
        yield from for_masked(span_of(source, inner_operation, place), source)
    word = word_of(node)
    if word in ("log", "log2", "log10", "log1p"):
        inner = None if node is None else operand_of(source, node)
        if word_of(inner) == "exp":
            yield from guarded(source, inner, at_most(LARGEST_EXPONENT))
        yield from for_log(place, source)
    elif word in ("exp", "expm1"):
        yield from for_exp(place, source)
    elif word in ("sqrt", "rsqrt", "pow", "norm", "std"):
        yield from for_root(place, source)
    elif word in DOMAINS:
        yield from for_domain(place, source)
    elif isinstance(node, ast.BinOp):
        yield from (
            for_root(place, source) if isinstance(node.op, ast.Pow) else for_division(place, source)
        )


def _operation_inside(source: Source, node: ast.expr | None) -> ast.expr | None:
    """Return the only logarithm, root or power inside a product or sum, `p * log(p)`."""
    if not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Pow | ast.Div):
        return None
    found = list(source.calls("log", "sqrt", "exp", *DOMAINS, within=node))
    return found[0] if len(found) == 1 else None


def span_of(source: Source, node: ast.expr, place: SourceSpan) -> SourceSpan:
    """Return the span of an expression in the file of another span."""
    start, end = source.stretch(node)
    first, last = source.offset(node.lineno, 0), source.offset(node.end_lineno or node.lineno, 0)
    return replace(
        place,
        line=node.lineno,
        end_line=node.end_lineno,
        column=start - first,
        end_column=end - last,
        expression=source.of(node),
    )
