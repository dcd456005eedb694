"""Calls and expressions on their own."""

from __future__ import annotations

import ast

import pytest

from torchwhy.source import calls, values


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        ("loss.backward()", "loss"),
        ("scaler.scale(loss).backward()", "loss"),
        ("accelerator.backward(loss)", "loss"),
        ("criterion(out, y).backward()", "criterion(out, y)"),
    ],
)
def test_receiver_of_a_backward_call_is_the_loss(text, loss):
    assert ast.unparse(calls.receiver(expression(text))) == loss


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("f(1, 2)", "2"),
        ("f(1, b=3)", "3"),
        ("f(1)", None),
        ("f(*all)", None),
        ("f(*all, b=3)", "3"),
    ],
)
def test_argument_is_found_by_place_and_by_name(text, given):
    found = calls.argument(expression(text), ["a", "b"], "b")

    assert (found and ast.unparse(found)) == given


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("p.log()", ["p"]),
        ("torch.log(p)", ["p"]),
        ("self.log(p)", ["p"]),
        ("a / (b + 1)", ["a", "b + 1"]),
        ("-x", ["x"]),
        ("f(x, dim=d)", ["x", "d"]),
        ("x", []),
    ],
)
def test_operands_have_the_words_of_the_program(text, names):
    assert values.operand_names(expression(text)) == names


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("float('nan')", True),
        ("-math.inf", True),
        ("torch.full((2,), 1e999)", True),
        ("np.NaN", True),
        ("x / 0", False),
        ("info", False),
    ],
)
def test_nonfinite_constants_are_told_from_computed_ones(text, spelled):
    assert values.spells_nonfinite(expression(text)) is spelled


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("    x.mean(\n        0)", ast.Call),
        ("x += 1", ast.AugAssign),
        ("", None),
        ("a = 1; b = 2", None),
        ("x.mean(", None),
    ],
)
def test_text_of_one_expression_or_statement_is_parsed_as_it_stands(text, kind):
    node = values.only_statement_of(text)

    assert node is None if kind is None else isinstance(node, kind)


class Holder:
    """Has an attribute of its own, and a property that must not run."""

    def __init__(self) -> None:
        self.kept = {"best": 3}

    @property
    def computed(self) -> None:
        raise AssertionError("ran code of the program")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("holder.kept['best']", 3),
        ("holder.kept['worst']", None),
        ("holder.computed", None),
        ("other.kept", None),
        ("holder.kept[key]", None),
    ],
)
def test_looking_a_value_up_runs_nothing(text, found):
    names = {"holder": Holder(), "key": "best"}

    assert values.look_up(expression(text), names, items=True) == found


def test_items_are_looked_up_only_if_asked_for():
    assert values.look_up(expression("d['a']"), {"d": {"a": 1}}) is None
