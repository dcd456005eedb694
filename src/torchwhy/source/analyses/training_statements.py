"""Statements of training in the program's text: those that set a rate, freeze, thaw, exchange a layer.

Each question is asked of all files of the program, and answered by places in the order of files and lines.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable

from torchwhy.finding import SourceSpan
from torchwhy.source.calls import called
from torchwhy.source.edits import Source
from torchwhy.source.values import is_true

Files = Iterable[Source]

MOST_PLACES = 8  # told of one kind; a program with more has no single statement to blame
CLEARS = re.compile(r"\bzero_grad\(|\bgrad\s*=\s*None\b|\bgrad(\.data)?\.zero_\(")
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
SCHEDULE = re.compile("LR|Scheduler")
SCHEDULERS = {
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "_LRScheduler",
}


def reads_gradients(files: Files) -> bool:
    """Tell whether a program does anything with a gradient by itself, between backward and step."""
    return any(READS_GRADIENT.search(source.text) for source in files)


def clears_gradients(files: Files) -> bool:
    """Tell whether a program clears gradients anywhere in its text."""
    return any(CLEARS.search(source.text) for source in files)


def rate_settings(files: Files) -> list[SourceSpan]:
    """Return the statements that set the rate of a group by hand."""
    return _statements(files, SETS_RATE, _sets_rate)


def schedules_made(files: Files) -> list[SourceSpan]:
    """Return the statements that make a scheduler of torch and give it a name."""
    return _statements(files, SCHEDULE, _makes_schedule)


def freezing(files: Files) -> list[SourceSpan]:
    """Return the statements that set `requires_grad` to something else than True."""
    return _statements(files, REQUIRES_GRAD, _freezes)


def set_to_false(files: Files, attribute: str) -> list[SourceSpan]:
    """Return the statements that set an attribute of something else than `self` to False.

    Those of a loop over parameters are left out, and those whose attribute the program reads.
    """
    return [
        place
        for source in files
        if attribute in source.text
        for place in _statements(
            [source],
            re.compile(re.escape(attribute)),
            lambda node, source=source: (  # type: ignore[misc]
                _sets_to_false(node, attribute) and not _has_effect(source, node)
            ),
        )
    ]


def thawing(files: Files) -> list[SourceSpan]:
    """Return the statements that set `requires_grad` to True."""
    return _statements(files, REQUIRES_GRAD, _thaws)


def uncalled_methods(files: Files) -> list[SourceSpan]:
    """Return the statements that name a method of training and do not call it: `model.eval`."""
    return _statements(files, UNCALLED, _is_uncalled)


def joining(files: Files, attributes: set[str]) -> list[SourceSpan]:
    """Return the statements outside of constructors that can put a part into a model under one of these names."""
    hint = re.compile("|".join(["load_state_dict", *map(re.escape, sorted(attributes))]))
    places = _statements(files, hint, lambda node: _joins(node, attributes))
    return [place for place in places if place.function != "__init__"]


def trains_on_condition(source: Source, line: int) -> bool:
    """Tell whether the loop around a line switches to train mode in some turns: `if epoch < 3: model.train()`."""
    statement = source.statement_at(line)
    loops = source.loops_of(statement) if statement is not None else []
    switches = [
        node
        for loop in loops[-1:]
        for node in ast.walk(loop)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "train"
    ]
    return bool(switches) and all(
        one.args
        or any(
            isinstance(outer, ast.If) and loops[-1] in source.around(outer)
            for outer in source.around(one)
        )
        for one in switches
    )


def _statements(
    files: Files, hint: re.Pattern[str], is_wanted: Callable[[ast.stmt], bool]
) -> list[SourceSpan]:
    """Return the wanted statements of files in whose text the hint occurs; only those are parsed."""
    found = [
        _span(source, node)
        for source in files
        if hint.search(source.text) is not None
        for node in ast.walk(source.tree)
        if isinstance(node, ast.stmt) and is_wanted(node)
    ]
    return sorted(found, key=lambda span: (span.file, span.line))[:MOST_PLACES]


def _span(source: Source, node: ast.stmt) -> SourceSpan:
    line, end_line, column, end_column = source.position(node)
    function = source.scope_of(node)
    return SourceSpan(
        file=source.file,
        line=line,
        end_line=end_line,
        column=column,
        end_column=end_column,
        function=getattr(function, "name", None),
        expression=source.of(node),
    )


def _sets_to_false(node: ast.stmt, attribute: str) -> bool:
    """Tell whether a statement is `x.attribute = False`, where x is not `self`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
        return False
    return node.value.value is False and any(
        isinstance(one, ast.Attribute)
        and one.attr == attribute
        and not (isinstance(one.value, ast.Name) and one.value.id == "self")
        for one in node.targets
    )


def _has_effect(source: Source, assignment: ast.stmt) -> bool:
    """Tell whether x of `x.attribute = False` is a parameter from a loop, or the program reads `x.attribute`."""
    target = assignment.targets[0] if isinstance(assignment, ast.Assign) else None
    if not isinstance(target, ast.Attribute):
        return True
    holder = ast.unparse(target.value)
    if target.attr != REQUIRES_GRAD.pattern:  # which is read of parameters, too
        return any(_reads_attribute(node, target.attr) for node in ast.walk(source.tree))
    return any(
        _loops_over_parameters(node, holder)
        if isinstance(node, ast.For)
        else _reads_attribute(node, target.attr, holder)
        for node in ast.walk(source.tree)
    )


def _loops_over_parameters(loop: ast.For, name: str) -> bool:
    """Tell whether a loop binds a name to one parameter after another."""
    bound = {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)}
    return name in bound and "parameters" in ast.unparse(loop.iter)


def _reads_attribute(node: ast.AST, attribute: str, holder: str | None = None) -> bool:
    """Tell whether syntax reads an attribute, of one holder or of any: `x.attribute`, `getattr(x, "attribute")`."""
    if isinstance(node, ast.Call) and holder is None:
        return called(node) in ("getattr", "hasattr") and any(
            isinstance(given, ast.Constant) and given.value == attribute for given in node.args
        )
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and node.attr == attribute
        and holder in (None, ast.unparse(node.value))
    )


def _is_uncalled(node: ast.stmt) -> bool:
    """Tell whether a statement is nothing but the name of a method: `loss.backward`."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr in METHODS
    )


def _makes_schedule(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.AnnAssign) and called(node.value) in SCHEDULERS


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
    word = called(call)
    if word == "load_state_dict":
        return any(given.arg == "assign" and is_true(given.value) for given in call.keywords)
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


def _freezes(node: ast.stmt) -> bool:
    value = _given_to_requires_grad(node)
    return value is not None and not is_true(value)


def _thaws(node: ast.stmt) -> bool:
    value = _given_to_requires_grad(node)
    return value is not None and is_true(value)


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
