"""Edits of the call that creates an optimizer: learning rate, epsilon, momentum, weight decay."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from torchwhy.detect.fixes.training.number_edits import set_number
from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.analyses.written_numbers import written
from torchwhy.source.bindings import names_in, value_of_name
from torchwhy.source.calls import keyword, optimizer_calls, word_of
from torchwhy.source.edits import Edit, Source, in_brackets

POSITIONS = {"lr": 1}  # Of these options, programs pass only the learning rate by position.
USUAL_RATE = {"SGD": 0.01, "RMSprop": 1e-3, "Adagrad": 1e-2, "Adadelta": 1.0}
USUAL_ADAM_RATE = 1e-3
FAR_ABOVE = 100.0  # A tenth of this many times the usual learning rate is still too high to try.
STABLE_SHARE = 0.5  # At the measured limit itself the loss does not fall.


def made_at(place: SourceSpan | None, source: Source) -> ast.Call | None:
    """Return the call that creates the optimizer: the one on the line of the place, or the only one."""
    calls = list(optimizer_calls(source))
    line = place.line if place is not None else None
    on_line = [
        call for call in calls if line is not None and call.lineno <= line <= (call.end_lineno or 0)
    ]
    chosen = on_line or calls
    return chosen[0] if len(chosen) == 1 else None


def set_option(source: Source, call: ast.Call, name: str, text: str) -> Edit | None:
    """Return the edit that sets an option of a call, where its number is written or as a new argument."""
    given = option(source, call, name)
    if given is not None:
        place = written(source, given)
        is_here = place is not None and place.source is source
        return source.replace(place.node if place is not None and is_here else given, text)
    last = max(
        (*call.args, *(one.value for one in call.keywords)),
        key=lambda one: source.stretch(one)[1],
        default=None,
    )
    if last is None:
        return None
    end = source.stretch(last)[1]
    return Edit(end, end, f", {name}={text}")


def _set_where_written(
    source: Source, call: ast.Call, name: str, text: str, *, title: str, actual: float | None = None
) -> Iterator[Fix]:
    """Yield an option set where the user sets its number; `actual` is the number in use, if it is known."""
    given = option(source, call, name)
    if given is not None:
        yield from set_number(source, given, text, title=title, actual=actual)
    else:
        yield from source.fix(title, set_option(source, call, name, text))


def _in_dictionary(source: Source, unpacked: ast.expr, name: str) -> ast.expr | None:
    value = (
        unpacked if isinstance(unpacked, ast.Dict | ast.Call) else value_of_name(source, unpacked)
    )
    if value is None and isinstance(unpacked, ast.Name):
        value = _constant_of_module(source, unpacked.id)
    if isinstance(unpacked, ast.Subscript | ast.Attribute):
        value = next((one for one in ast.walk(source.tree) if _has_key(one, name)), None)
    if isinstance(value, ast.Dict):
        for key, held in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == name:
                return held
    if isinstance(value, ast.Call) and word_of(value) == "dict":
        return keyword(value, name)
    return None


def _constant_of_module(source: Source, name: str) -> ast.expr | None:
    found = [
        statement.value
        for statement in source.tree.body
        if isinstance(statement, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)
    ]
    return found[0] if len(found) == 1 else None


def _has_key(node: ast.AST, name: str) -> TypeGuard[ast.Dict]:
    return isinstance(node, ast.Dict) and any(
        isinstance(key, ast.Constant) and key.value == name for key in node.keys
    )


def option(source: Source, call: ast.Call, name: str) -> ast.expr | None:
    """Return the expression that a call passes for an option."""
    given = keyword(call, name)
    position = POSITIONS.get(name)
    if given is None and position is not None and position < len(call.args):
        given = call.args[position]
    if given is None:
        for unpacked in (one.value for one in call.keywords if one.arg is None):
            given = given or _in_dictionary(source, unpacked, name)
    return given


def lower_rate(
    place: SourceSpan | None,
    source: Source,
    *,
    stable_rate: float | None = None,
    rate: float | None = None,
) -> Iterator[Fix]:
    """Yield lower learning rates: below the measured limit if there is one, a tenth, a hundredth, the usual one.

    `rate` is the learning rate that the optimizer was made with.
    """
    call = made_at(place, source)
    if call is None:
        yield from _lower_in_manual_update(place, source)
        return
    given = _highest(source, option(source, call, "lr"), _rate_of_group(call))
    is_of_group = given is not option(source, call, "lr")
    actual = None if is_of_group or given is None else rate
    # A schedule may change the learning rate before the first step, so that it is written nowhere.
    if given is not None and not any(set_number(source, given, "0.0", title="", actual=actual)):
        actual = None
    number = _number(source, given) if actual is None else actual
    fixes: list[Fix] = []
    for text in _texts(_rates(stable_rate, word_of(call), number), below=number):
        title = f"lower the learning rate to {text}"
        if given is None:
            fixes += source.fix(title, set_option(source, call, "lr", text))
        else:
            fixes += set_number(source, given, text, title=title, actual=actual)
    yield from fixes[:2]
    yield from _stop_raising(source)
    yield from fixes[2:]
    if not fixes and given is not None and names_in(given):
        bracketed = in_brackets(source.of(given), given)
        for factor in ("0.1", "0.01"):
            edit = source.replace(given, f"{factor} * {bracketed}")
            yield from source.fix(f"lower the learning rate to {factor} of {bracketed}", edit)


def _highest(source: Source, own: ast.expr | None, group: ast.expr | None) -> ast.expr | None:
    """Return the higher of the learning rates for all parameters and for a group of them."""
    if own is None or group is None:
        return own if group is None else group
    numbers = _number(source, own), _number(source, group)
    is_group = numbers[1] is not None and (numbers[0] is None or numbers[1] > numbers[0])
    return group if is_group else own


def _rate_of_group(call: ast.Call) -> ast.expr | None:
    """Return the learning rate of a parameter group, if exactly one group has its own."""
    rates = [
        value
        for node in ast.walk(call)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "lr"
    ]
    return rates[0] if len(rates) == 1 else None


def _texts(rates: Iterable[float], *, below: float | None) -> list[str]:
    return list(dict.fromkeys(f"{rate:.1g}" for rate in rates if below is None or rate < below))


def _lower_in_manual_update(at: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield a lower learning rate for a manual update, `w -= rate * w.grad`."""
    line = at.line if at is not None else 0
    statement = source.statement_at(line)
    if statement is None or any(True for _ in optimizer_calls(source)):
        return
    places = {}
    for node in ast.walk(statement):
        for factor in _factors(node):
            place = written(source, factor)
            if place is not None and place.number != 0:
                places[place.node] = place
    for share in (10, 100, 1000):
        for place in places.values():
            text = f"{place.number / share:.1g}"
            yield from place.source.fix(
                f"lower the learning rate of the update to {text}",
                place.source.replace(place.node, text),
            )


def _factors(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from (node.left, node.right)
    elif isinstance(node, ast.Call):
        alpha = keyword(node, "alpha", "value")
        if alpha is not None:
            yield alpha.operand if isinstance(alpha, ast.UnaryOp) else alpha


def _stop_raising(source: Source) -> Iterator[Fix]:
    """Yield the program without the steps of a schedule that raises the learning rate without end."""
    for made in source.calls("StepLR", "ExponentialLR", "MultiStepLR"):
        factor, statement = keyword(made, "gamma"), source.statement_of(made)
        raises = (
            isinstance(factor, ast.Constant)
            and isinstance(factor.value, float)
            and factor.value > 1
        )
        if not raises or not isinstance(statement, ast.Assign):
            continue
        name = source.of(statement.targets[0])
        for call in source.calls("step"):
            step = source.statement_of(call)
            if source.of(call.func) == f"{name}.step" and step is not None:
                yield from source.fix(
                    f"stop raising the learning rate: remove {name}.step()", source.without(step)
                )


def _rates(stable_rate: float | None, kind: str | None, number: float | None) -> Iterator[float]:
    if stable_rate is not None:
        yield stable_rate * STABLE_SHARE
    if number is not None:
        usual = USUAL_RATE.get(kind or "", USUAL_ADAM_RATE)
        nearest = (number / 10, number / 100) if number < FAR_ABOVE * usual else ()
        yield from (*nearest, usual, usual / 10)


def _number(source: Source, node: ast.expr | None) -> float | None:
    place = written(source, node)
    return None if place is None else place.number


def raise_rate(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the usual learning rate of this optimizer, and ten times that."""
    call = made_at(place, source)
    if call is None:
        return
    usual = USUAL_RATE.get(word_of(call) or "", USUAL_ADAM_RATE)
    for rate in (usual, usual * 10):
        title = f"raise the learning rate to {rate:g}"
        yield from _set_where_written(source, call, "lr", f"{rate:g}", title=title)


def looser_clip(at: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield the clipping at a place with a usual limit, and the program without it."""
    line = at.line if at is not None else 0
    for call in source.calls("clip_grad_norm_", "clip_grad_value_"):
        if not call.lineno <= line <= (call.end_lineno or 0):
            continue
        given = keyword(call, "max_norm", "clip_value")
        if given is None and len(call.args) > 1:
            given = call.args[1]
        place = written(source, given)
        if place is not None:
            title = "clip at 1.0"
            yield from place.source.fix(title, place.source.replace(place.node, "1.0"))
        statement = source.statement_of(call)
        if isinstance(statement, ast.Expr):
            yield from source.fix("do not clip", source.without(statement))


def set_in_groups(source: Source, name: str, values: tuple[str, ...]) -> Iterator[Fix]:
    """Yield an option set to each of some usual values in the parameter groups that write it as a number."""
    written = [
        value
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == name
        if isinstance(value, ast.Constant) and value.value
    ]
    for value in values if written else ():
        edits = [source.replace(one, value) for one in written]
        yield from source.fix(f"set {name}={value} in the parameter groups", *edits)


def set_to(
    place: SourceSpan | None, source: Source, name: str, values: tuple[str, ...]
) -> Iterator[Fix]:
    """Yield an option of the optimizer set to each of some usual values."""
    call = made_at(place, source)
    for value in values if call is not None else ():
        assert call is not None
        title = f"set {name}={value}"
        yield from _set_where_written(source, call, name, value, title=title)


def and_a_leaf(place: SourceSpan | None, source: Source, name: str) -> Iterator[Fix]:
    """Yield the optimizer with a plain tensor added to the parameters of the model."""
    call = made_at(place, source)
    given = call.args[0] if call is not None and call.args else None
    if isinstance(given, ast.Call) and word_of(given) == "parameters":
        text = f"[*{source.of(given)}, {name}]"
        yield from source.fix(f"pass {text} to the optimizer", source.replace(given, text))


def all_parameters(
    place: SourceSpan | None, source: Source, *, names: Iterable[str]
) -> Iterator[Fix]:
    """Yield the optimizer with the parameters of the whole model, or of the other models that hold these names."""
    call = made_at(place, source)
    given = call.args[0] if call is not None and call.args else None
    if given is None:
        return
    is_method = isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute)
    if is_method and isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
        owner = given.func.value
        if isinstance(owner, ast.Attribute) and source.of(owner.value) != "self":
            text = f"{source.of(owner.value)}.parameters()"
            yield from source.fix(f"pass {text} to the optimizer", source.replace(given, text))
    chosen = value_of_name(source, given) or given
    for inner in source.calls("named_parameters", "parameters", within=chosen):
        if isinstance(inner.func, ast.Attribute) and inner is not given:
            text = f"{source.of(inner.func.value)}.parameters()"
            yield from source.fix(f"pass {text} to the optimizer", source.replace(given, text))
    scope = source.scope_of(given)
    for name in dict.fromkeys(one.partition(".")[0] for one in names if "." in one):
        if name in names_in(scope) and name not in names_in(given):
            others = [one for one in optimizer_calls(source) if one is not call and one.args]
            if any(source.of(one.args[0]) == source.of(given) for one in others):
                # The program passes the same model to two optimizers, one of which is meant for another model.
                yield from source.fix(
                    f"pass {name}.parameters() to the optimizer",
                    source.replace(given, f"{name}.parameters()"),
                )
                continue
            text = f"[*{source.of(given)}, *{name}.parameters()]"
            yield from source.fix(
                f"add the parameters of {name} to the optimizer", source.replace(given, text)
            )
