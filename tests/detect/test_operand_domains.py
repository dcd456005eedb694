"""The table of operand rules: every row proves its cause on a birth made for it, and no two rows say equally much."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.detect.helpers import birth, number, tensor, trace_with, twin
from torchwhy.detect.registry import all_detectors
from torchwhy.detect.rules.operand_domains import ROWS, proven
from torchwhy.detect.rules.violations import Interval, Row, Specificity, violations
from torchwhy.finding import SourceSpan
from torchwhy.record.events import Birth, Operand, TensorFacts

EMPTY = Operand(name="x", tensor=TensorFacts(dtype="float32", shape=[0, 4]))
BY_ZERO = [tensor(1.0), tensor(0.0)]

# The operands of a birth that violates each row, and what else is said of the birth.
EXAMPLES: dict[str, tuple[list[Operand], dict[str, Any]]] = {
    "masked-branch-gradient: hidden": (
        BY_ZERO,
        {"node": "SqrtBackward0", "forward": twin("aten.sqrt.default", hidden=True)},
    ),
    "optimizer-epsilon: update": (BY_ZERO, {"phase": "update", "expression": "optimizer.step()"}),
    "clip-of-infinite-norm: norm linalg_vector_norm": (
        [tensor(1e30)],
        {"phase": "clip", "wider": "finite"},
    ),
    "fully-masked-softmax: row": (
        [tensor(-math.inf)],
        {"op": "aten._softmax.default", "kind": "from-infinity", "fully_infinite_row": True},
    ),
    "half-precision-underflow: underflow": (
        [tensor(1.0), tensor(0.0, wider_at_born=1e-9)],
        {"dtype": "float16"},
    ),
    "empty-reduction: labels nll_loss": ([tensor(1.0), tensor(3.0, dtype="int64")], {"reduced": 0}),
    "empty-reduction: deviation std": ([tensor(1.0)], {"reduced": 1}),
    "empty-reduction: count div": ([tensor(0.0), tensor(0.0, dtype="int64")], {}),
    "empty-reduction: nothing": ([EMPTY], {"op": "aten.mean.default", "reduced": 0}),
    "log-of-nonpositive: gradient BinaryCrossEntropyBackward": (BY_ZERO, {}),
    "root-gradient-at-zero: root SqrtBackward": (BY_ZERO, {}),
    "root-gradient-at-zero: power PowBackward pow": ([tensor(0.0), number(-0.5)], {}),
    "root-gradient-at-zero: root LinalgVectorNormBackward": (BY_ZERO, {}),
    "root-gradient-at-zero: root CdistBackward": (BY_ZERO, {}),
    "root-gradient-at-zero: root HypotBackward": (BY_ZERO, {}),
    "root-gradient-at-zero: deviation StdBackward": (BY_ZERO, {}),
    "division-by-zero: repeated LinalgEigBackward": (BY_ZERO, {}),
    "domain-error: exponent PowBackward log": ([tensor(-2.0)], {}),
    "half-precision-overflow: overflow": (
        [tensor(300.0), tensor(300.0)],
        {"op": "aten.mul.Tensor", "dtype": "float16", "wider": "finite"},
    ),
    "root-gradient-at-zero: root CdistBackward _cdist_backward": ([tensor(1.0)], {}),
    "log-of-nonpositive: kernel binary_cross_entropy": ([tensor(0.0)], {}),
    "log-of-nonpositive: kernel _linalg_slogdet": ([tensor(None)], {}),
    "domain-error: slope AcosBackward": ([tensor(0.0)], {"op": "aten.rsqrt.default"}),
    "division-by-zero: matrix _linalg_solve_ex": ([tensor(None)], {}),
    "division-by-zero: divisor": (BY_ZERO, {}),
    "division-by-zero: variance _fused_rms_norm": ([tensor(1.0), number(0.0, "eps")], {}),
    "division-by-zero: length _weight_norm_interface": ([tensor(0.0)], {}),
    "log-of-nonpositive: logarithm log": ([tensor(-1.0)], {}),
    "log-of-nonpositive: logarithm xlogy": ([tensor(1.0), tensor(0.0)], {}),
    "log-of-nonpositive: log1p log1p": ([tensor(-1.0)], {}),
    "log-of-nonpositive: log1p special_xlog1py": ([tensor(1.0), tensor(-1.0)], {}),
    "domain-error: function acos": ([tensor(1.5)], {}),
    "domain-error: function atanh": ([tensor(1.0)], {}),
    "domain-error: function acosh": ([tensor(0.5)], {}),
    "domain-error: function logit": ([tensor(1.0)], {}),
    "domain-error: function digamma": ([tensor(-1.0)], {}),
    "domain-error: function polygamma": ([number(1.0), tensor(0.0)], {}),
    "domain-error: function sqrt": ([tensor(-1.0)], {}),
    "domain-error: power pow": ([tensor(-2.0), number(0.5)], {}),
    "exp-overflow: exponent cosh": ([tensor(1000.0)], {"value": "inf"}),
    "exp-overflow: exponent pow": (
        [number(2.0), tensor(1000.0)],
        {"op": "aten.pow.Scalar", "value": "inf"},
    ),
    "infinity-arithmetic: infinity": ([tensor(0.0), number(math.inf)], {"op": "aten.mul.Tensor"}),
    "float-overflow: range": (
        [tensor(1e30), tensor(1e30)],
        {"op": "aten.mul.Tensor", "value": "inf", "wider": "finite"},
    ),
}


def births_of(row: Row) -> Iterator[Birth]:
    """Yield a birth that violates a row, for each of its operations in each of its backward formulas."""
    operands, facts = EXAMPLES[row.name]
    more = dict(facts)
    written = more.pop("op", None)
    operations = [written or f"aten.{name}.default" for name in sorted(row.operations)]
    for operation in operations or [written or "aten.div.Tensor"]:
        for node in sorted(row.nodes) or [None]:
            named = {} if node is None else {"node": f"{node}0"}
            yield birth(operation, *operands, **more, **named)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_proves_its_cause_for_each_operation_and_formula(row: Row) -> None:
    for one in births_of(row):
        found = proven(one, row.cause)

        assert found is not None, one
        assert found.row is row, one


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_of_the_rows_that_a_birth_violates_no_two_say_equally_much(row: Row) -> None:
    for one in births_of(row):
        levels = [violation.row.specificity for violation in violations(one, ROWS)]

        assert len(set(levels)) == len(levels), one


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_no_other_cause_claims_the_birth(row: Row) -> None:
    causes = {
        name: cause for name, cause in all_detectors().items() if ".numerics." in cause.__module__
    }

    for one in births_of(row):
        claims = {name for name, cause in causes.items() if list(cause().scan(trace_with(one)))}

        assert claims <= {row.cause, "unexplained-nonfinite"}, one


def test_every_row_has_a_name_of_its_own_and_an_example() -> None:
    names = [row.name for row in ROWS]

    assert len(set(names)) == len(names)
    assert set(names) == set(EXAMPLES)


def test_rows_prove_causes_that_exist() -> None:
    assert {row.cause for row in ROWS} <= set(all_detectors())


def test_every_specificity_is_used() -> None:
    assert {row.specificity for row in ROWS} == set(Specificity)


def test_a_product_of_moderate_numbers_violates_nothing() -> None:
    assert violations(birth("aten.mul.Tensor", tensor(2.0), tensor(3.0)), ROWS) == []


def test_a_division_by_zero_in_a_hook_is_none_in_the_formula_around_it() -> None:
    hook = birth(
        "aten.div.Tensor", *BY_ZERO, node="SqrtBackward0", called_from=SourceSpan("train.py", 30)
    )

    assert proven(hook, "division-by-zero") is not None


# Functions of one argument as torch knows them, where the name in the table is another or an argument is missing.
FUNCTIONS = {
    "special_entr": torch.special.entr,
    "special_ndtri": torch.special.ndtri,
    "special_xlog1py": lambda x: torch.special.xlog1py(torch.ones(()), x),
    "xlogy": lambda x: torch.xlogy(torch.ones(()), x),
    "polygamma": lambda x: torch.polygamma(1, x),
    "pow": lambda x: x**0.5,
}
GRID = [-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0]
FUNCTION_ROWS = [row for row in ROWS if row.specificity == Specificity.FUNCTION]


@pytest.mark.parametrize(
    ("row", "name"), [(row, name) for row in FUNCTION_ROWS for name in sorted(row.operations)]
)
def test_torch_is_finite_inside_a_domain_and_fails_outside_of_it(row: Row, name: str) -> None:
    function = FUNCTIONS.get(name) or getattr(torch, name)
    assert isinstance(row.needs, Interval)
    inside = [value for value in GRID if row.needs.holds(value)]
    outside = [value for value in GRID if not row.needs.holds(value)]

    assert torch.isfinite(function(torch.tensor(inside))).all()
    assert not torch.isfinite(function(torch.tensor(outside))).all()


@pytest.mark.parametrize(
    ("interval", "written"),
    [
        (Interval(-1, 1, closed=True), "[-1, 1]"),
        (Interval(0, 1), "(0, 1)"),
        (Interval(1, math.inf, closed=True), "[1, inf)"),
        (Interval(0, math.inf), "(0, inf)"),
    ],
)
def test_intervals_are_written_as_in_a_textbook(interval: Interval, written: str) -> None:
    assert str(interval) == written
