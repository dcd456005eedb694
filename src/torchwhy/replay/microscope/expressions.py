"""What the program calls the operands of an expression: read off its source, never evaluated."""

from __future__ import annotations

import ast
import linecache
import textwrap
from functools import lru_cache

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.frames import Site, span_of

# Receivers that are libraries, not operands: `torch.log(p)` has the operand p, `p.log()` has p, too.
LIBRARIES = {"torch", "F", "nn", "np", "numpy", "math", "functional", "special", "linalg", "fft"}
NONFINITE_WORDS = {"nan", "inf", "infinity", "-inf", "NaN", "Infinity"}


@lru_cache(maxsize=2048)
def node_at(site: Site) -> ast.AST | None:
    """Return the syntax of the expression a site was executing."""
    text = _text_of(site)
    for attempt in (text, textwrap.dedent(text)):
        try:
            body = ast.parse(attempt.strip()).body
        except SyntaxError:
            continue
        if len(body) == 1:
            statement = body[0]
            return statement.value if isinstance(statement, ast.Expr) else statement
    return None


def _text_of(site: Site) -> str:
    """Return the whole expression (a span's own copy is cut when long)."""
    span = span_of(site)
    lines = linecache.getlines(site.code.co_filename)[span.line - 1 : span.end_line or span.line]
    if not lines or span.column is None or span.end_column is None:
        return span.expression or ""
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    return "(" + "".join(lines) + "\n)" if not _is_statement(lines) else "".join(lines)


def _is_statement(lines: list[str]) -> bool:
    try:
        ast.parse("(" + "".join(lines) + "\n)")
    except SyntaxError:
        return True
    return False


def operand_names(site: Site) -> list[str]:
    """Return the operands of an expression as the program writes them, in order."""
    node = node_at(site)
    if isinstance(node, ast.BinOp):
        parts: list[ast.AST] = [node.left, node.right]
    elif isinstance(node, ast.AugAssign):
        parts = [node.target, node.value]
    elif isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    elif isinstance(node, ast.Call):
        parts = [*_receiver(node.func), *node.args, *(k.value for k in node.keywords)]
    else:
        return []
    return [ast.unparse(part) for part in parts]


def _receiver(function: ast.AST) -> list[ast.AST]:
    """Return `p` of `p.log()`, nothing of `torch.log(p)` or `log(p)`."""
    if not isinstance(function, ast.Attribute):
        return []
    base = function.value
    name = (
        base.attr
        if isinstance(base, ast.Attribute)
        else base.id
        if isinstance(base, ast.Name)
        else ""
    )
    is_library = name in LIBRARIES
    is_module = isinstance(base, ast.Name) and base.id == "self"
    return [] if is_library or is_module else [base]


def is_number(text: str) -> bool:
    """Tell whether an operand is written as a plain number."""
    try:
        return isinstance(ast.literal_eval(text), (int, float))
    except (ValueError, SyntaxError):
        return False


def writes_nonfinite_constant(site: Site) -> bool:
    """Tell whether the expression itself spells NaN or infinity: `float('nan')`, `math.inf`, `-np.inf`, `1e999`."""
    node = node_at(site)
    if node is None:
        return False
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in NONFINITE_WORDS:
            return True
        if isinstance(part, ast.Name) and part.id.lower().strip("_-") in ("nan", "inf", "infinity"):
            return True
        if isinstance(part, ast.Constant) and _is_nonfinite(part.value):
            return True
    return False


def _is_nonfinite(value: object) -> bool:
    if isinstance(value, str):
        return value.strip("+- ").lower() in ("nan", "inf", "infinity")
    return isinstance(value, float) and value in (float("inf"), float("-inf"))


def span_in_module(site: Site, module: str | None) -> SourceSpan:
    """Return a site's span with the module it ran in."""
    span = span_of(site)
    if module is None:
        return span
    return SourceSpan(
        file=span.file,
        line=span.line,
        end_line=span.end_line,
        column=span.column,
        end_column=span.end_column,
        function=span.function,
        module=module,
        expression=span.expression,
    )
