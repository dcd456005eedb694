"""What only the source tells: which statements freeze parameters or set a rate, and whether gradients are read."""

from __future__ import annotations

import ast
import linecache
import re
import time
from collections.abc import Callable, Iterator

from torch.optim import lr_scheduler

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.user_modules import user_files
from torchwhy.record.wiring import StatementsFound
from torchwhy.source.files import shown_path

MOST_TOLD = 8
MOST_SECONDS = 0.25  # for the files of a large program, which come in the order of their import
# `p.grad`, `getattr(p, "grad")`, `tensor.register_hook(…)`, `register_post_accumulate_grad_hook`
READS_GRADIENT = re.compile(r"""\.grad\b(?!\s*\()|["']grad["']|\.register_\w*hook""")
GROWS = {"append", "extend", "insert", "update"}  # methods of ModuleList, ModuleDict, Sequential
SETS = {"setattr", "add_module", "register_module", "register_parameter"}
METHODS = (
    "backward",
    "eval",
    "step",
    "train",
    "zero_grad",
)  # what they do nobody else does in their place
UNCALLED = re.compile(rf"\.(?:{'|'.join(METHODS)})[ \t]*(?:#.*)?$", re.MULTILINE)
REQUIRES_GRAD = re.compile("requires_grad")
SETS_RATE = re.compile(r"""\[["']lr["']\]\s*[-+*/]?=(?!=)""")


def reads_gradients() -> bool:
    """Tell whether the user's loaded files do anything with a gradient by themselves, between backward and step."""
    return any(
        READS_GRADIENT.search("".join(linecache.getlines(filename))) for filename in user_files()
    )


def statements_found(step: int, *, frozen: bool) -> StatementsFound:
    """Return the statements of the user's loaded files that somebody may ask for, in their order."""
    return StatementsFound(
        step=step,
        rates=_statements(SETS_RATE, _sets_rate),
        schedules=_statements(re.compile("LR|Scheduler"), _makes_schedule),
        freezes=freezing_statements() if frozen else [],
        thaws=_statements(REQUIRES_GRAD, _thaws) if frozen else [],
        uncalled=_statements(UNCALLED, _is_uncalled),
    )


def freezing_statements() -> list[SourceSpan]:
    """Return the statements of the user's loaded files that can set `requires_grad` to False, in order."""
    return _statements(REQUIRES_GRAD, _freezes)


def joining_statements(attributes: set[str]) -> list[SourceSpan]:
    """Return the statements outside of constructors that can put a part into a model under one of these names."""
    return [
        place
        for place in _statements(
            re.compile("|".join(["load_state_dict", *map(re.escape, sorted(attributes))])),
            lambda node: _joins(node, attributes),
        )
        if place.function != "__init__"
    ]


def _is_uncalled(node: ast.stmt) -> bool:
    """Tell whether a statement is nothing but the name of a method: `loss.backward`."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr in METHODS
    )


def _makes_schedule(node: ast.stmt) -> bool:
    value = getattr(node, "value", None) if isinstance(node, ast.Assign | ast.AnnAssign) else None
    if not isinstance(value, ast.Call):
        return False
    word = getattr(value.func, "attr", getattr(value.func, "id", ""))
    return isinstance(getattr(lr_scheduler, word, None), type)


def _statements(hint: re.Pattern[str], is_wanted: Callable[[ast.stmt], bool]) -> list[SourceSpan]:
    """Return the wanted statements of files in whose text the hint occurs; only those are parsed."""
    found: list[SourceSpan] = []
    ends = time.perf_counter() + MOST_SECONDS
    for filename in user_files():
        if time.perf_counter() > ends:
            break
        text = "".join(linecache.getlines(filename))
        if hint.search(text) is None:
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        found += [
            _span(filename, text, node, function)
            for node, function in _with_function(tree)
            if isinstance(node, ast.stmt) and is_wanted(node)
        ]
    return sorted(found, key=lambda span: (span.file, span.line))[:MOST_TOLD]


def _joins(node: ast.stmt, attributes: set[str]) -> bool:
    """Tell whether a statement is `model.head = …`, `model.body[2] = …`, `setattr(…)` or `model.blocks.append(…)`.

    `load_state_dict(…, assign=True)` puts other tensors into all places.
    """
    if isinstance(node, ast.Assign):
        targets = [
            target.value if isinstance(target, ast.Subscript) else target for target in node.targets
        ]
        return any(
            isinstance(target, ast.Attribute) and target.attr in attributes for target in targets
        )
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    if isinstance(call.func, ast.Attribute) and call.func.attr in GROWS:
        return isinstance(call.func.value, ast.Attribute) and call.func.value.attr in attributes
    word = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if word == "load_state_dict":
        return any(given.arg == "assign" and _is_true(given.value) for given in call.keywords)
    return word in SETS and any(
        isinstance(given, ast.Constant) and given.value in attributes for given in call.args
    )


def _sets_rate(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign):
        targets = [node.target]
    else:
        return False
    return any(
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and target.slice.value == "lr"
        for target in targets
    )


def _with_function(
    node: ast.AST, function: str | None = None
) -> Iterator[tuple[ast.AST, str | None]]:
    """Yield every piece of syntax with the name of the function around it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function = node.name
    for child in ast.iter_child_nodes(node):
        yield child, function
        yield from _with_function(child, function)


def _freezes(node: ast.stmt) -> bool:
    value = _given_to_requires_grad(node)
    return value is not None and not _is_true(value)


def _thaws(node: ast.stmt) -> bool:
    value = _given_to_requires_grad(node)
    return value is not None and _is_true(value)


def _given_to_requires_grad(node: ast.stmt) -> ast.expr | None:
    """Return the value that a statement sets `requires_grad` to: `p.requires_grad = x`, `p.requires_grad_(x)`."""
    if isinstance(node, ast.Assign):
        targets = [target for target in node.targets if isinstance(target, ast.Attribute)]
        return node.value if any(target.attr == "requires_grad" for target in targets) else None
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if isinstance(call.func, ast.Attribute) and call.func.attr == "requires_grad_":
            values = [*call.args, *(keyword.value for keyword in call.keywords)]
            return values[0] if values else ast.Constant(value=True)
    return None


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _span(filename: str, text: str, node: ast.stmt, function: str | None) -> SourceSpan:
    return SourceSpan(
        file=shown_path(filename),
        line=node.lineno,
        end_line=node.end_lineno,
        column=node.col_offset,
        end_column=node.end_col_offset,
        function=function,
        expression=ast.get_source_segment(text, node) or ast.unparse(node),
    )
