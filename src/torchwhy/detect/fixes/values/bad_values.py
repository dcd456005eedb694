"""Edits that keep a bad value out of training: skip batches, make literals finite, clamp operands."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.fixes.memory.memory import carried
from torchwhy.detect.fixes.training.loops import LOOPS, backwards
from torchwhy.detect.fixes.values.data import MASKED, holds_numbers, is_minus_infinity
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.calls import keyword, torch_name, word_of
from torchwhy.source.edits import Edit, Source, in_brackets
from torchwhy.source.scopes import enclosing
from torchwhy.source.text import one_line

NUMPY_GUARDS = {"log": "1e-8", "log2": "1e-8", "log10": "1e-8", "sqrt": "0", "log1p": "-1 + 1e-8"}
BOUND = "1e4"  # its square fits into every floating-point dtype except float16


def skip_bad_batch(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a loop that skips a batch whose loss is not finite."""
    torch = torch_name(source)
    for _, statement in backwards(place, source):
        call = next(source.calls("backward", within=statement), None)
        if torch is None or call is None or not isinstance(call.func, ast.Attribute):
            continue
        loss = call.func.value
        if isinstance(loss, ast.Call) and len(loss.args) == 1:  # scaler.scale(loss).backward()
            loss = loss.args[0]
        loop = enclosing(source, statement, *LOOPS)
        is_plain = isinstance(loss, ast.Name | ast.Attribute | ast.Subscript)
        if not is_plain or loop is None or source.scope_of(loop) is not source.scope_of(statement):
            continue
        start = source.stretch(statement)[0]
        margin = source.text[source.text.rfind("\n", 0, start) + 1 : start]
        condition = f"if not {torch}.isfinite({source.of(loss)}).all():"
        if not margin.strip():
            yield from source.fix(
                f"skip a batch whose loss is not finite: {condition} continue",
                source.insert_before(statement, f"{condition}\n{margin}    continue"),
                hides=True,
            )
        return


def zero_infinity(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the CTC loss with `zero_infinity=True`."""
    node = source.at(place)
    made = list(source.calls("CTCLoss"))
    calls = [node] if word_of(node) == "ctc_loss" else made or list(source.calls("ctc_loss"))
    for call in calls:
        assert isinstance(call, ast.Call)
        title = "set the loss of a target that does not fit to 0: zero_infinity=True"
        given = keyword(call, "zero_infinity")
        if given is not None:
            yield from source.fix(title, source.replace(given, "True"), hides=True)
            continue
        end = source.stretch(call)[1] - 1
        has_any = bool(call.args or call.keywords)
        comma = "" if source.text[:end].rstrip().endswith(",") or not has_any else ", "
        edit = Edit(end, end, f"{comma}zero_infinity=True")
        yield from source.fix(title, edit, hides=True)


def finite_literal(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a finite number instead of a NaN or infinity that is written in the source."""
    statement = None if place is None else source.statement_at(place.line)
    if statement is None:
        return
    names = {one.id for one in ast.walk(statement) if isinstance(one, ast.Name)}
    inside: list[ast.AST] = [*ast.walk(statement)]
    for made in source.tree.body:
        is_used = isinstance(made, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id in names for target in made.targets
        )
        inside += ast.walk(made) if is_used else []
    constants = [one for one in inside if isinstance(one, ast.expr) and _is_nonfinite(one)]
    outer = [one for one in constants if source.parents.get(one) not in constants]
    if not outer:
        return
    is_weight = any(True for _ in source.calls("Parameter", within=statement))
    choices: tuple[str, ...] = ("1.0", "0.0") if is_weight else ("0.0", "1.0")
    if all(is_minus_infinity(one) for one in outer):
        choices = (MASKED,)
    for text in choices:
        edits = [source.replace(constant, text) for constant in dict.fromkeys(outer)]
        shown = " and ".join(dict.fromkeys(source.of(constant) for constant in outer))
        yield from source.fix(f"write {text} instead of {shown}", *edits)


def _is_nonfinite(node: ast.expr) -> bool:
    if is_minus_infinity(node):
        return True
    if isinstance(node, ast.Call) and word_of(node) == "float" and len(node.args) == 1:
        text = str(getattr(node.args[0], "value", "")).strip().lower().lstrip("+-")
        return text in ("nan", "inf", "infinity")
    return isinstance(node, ast.Attribute) and node.attr in ("nan", "inf", "NaN", "Inf")


def numpy_in_domain(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield NumPy logarithms and roots with operands clamped to their domain."""
    statement = None if place is None else source.statement_at(place.line)
    if statement is None or isinstance(statement, ast.For):
        return
    edits: list[Edit] = []
    for call in source.calls(*NUMPY_GUARDS, within=statement):
        module = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(module, ast.Name) and module.id in ("np", "numpy") and call.args:
            given = call.args[0]
            bound = NUMPY_GUARDS[word_of(call) or ""]
            text = f"{module.id}.maximum({source.of(given)}, {bound})"
            divisor = _divisor(given)
            if divisor is not None:
                kept = f"{in_brackets(source.of(divisor), divisor)}"
                low = f"{module.id}.maximum({kept}, 1e-8)"
                start = source.stretch(given)[0]
                a, b = source.in_own_brackets(divisor)
                whole = source.of(given)
                changed = whole[: a - start] + low + whole[b - start :]
                text = f"{module.id}.maximum({changed}, {bound})"
            edits.append(source.replace(given, text))
    if edits:
        shown = one_line(edits[0].text)
        yield from source.fix(f"clamp the operand: {shown}", *edits, hides=True)


def _divisor(node: ast.expr) -> ast.expr | None:
    return node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) else None


def open_row(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a padding mask that leaves a row unmasked if every position of it would be masked."""
    node = source.at(place)
    given = (
        keyword(node, "key_padding_mask", "src_key_padding_mask", "attn_mask", "mask")
        if isinstance(node, ast.Call)
        else None
    )
    if given is not None and not holds_numbers(source, given):
        mask = in_brackets(source.of(given), given)
        text = f"{mask} & ~{mask}.all(dim=-1, keepdim=True)"
        yield from source.fix(
            f"unmask a row in which every position is masked: {text}", source.replace(given, text)
        )


def clamped_operands(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield clamped operands for an operation that exceeds the range of its dtype."""
    node = source.at(place)
    operands: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, ast.Call) and word_of(node) not in ("prod", "cumprod", "sum"):
        operands = list(node.args[:2])
        if not operands and isinstance(node.func, ast.Attribute):
            operands = [node.func.value]
    edits = []
    for operand in operands:
        if isinstance(operand, ast.Constant):
            continue
        text = f"{in_brackets(source.of(operand), operand)}.clamp(-{BOUND}, {BOUND})"
        where = source.stretch(operand)
        if isinstance(node, ast.BinOp):
            where = source.in_own_brackets(operand)
        edits.append(Edit(*where, text))
        yield from source.fix(f"clamp an operand: {one_line(text)}", edits[-1], hides=True)
    if len(edits) > 1:
        yield from source.fix(f"clamp both operands to ±{BOUND}", *edits, hides=True)


def bounded_state(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the state of a loop wrapped in tanh, which keeps repeated products bounded."""
    line = place.line if place is not None else 0
    statement, torch = source.statement_at(line), torch_name(source)
    if (
        isinstance(statement, ast.Assign)
        and torch is not None
        and enclosing(source, statement, *LOOPS)
        and carried(source, statement)
    ):
        text = f"{torch}.tanh({source.of(statement.value)})"
        yield from source.fix(
            f"bound the state: {' '.join(text.split())}", source.replace(statement.value, text)
        )
