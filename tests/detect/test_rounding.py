"""An operand is off by rounding only if the numbers it was computed from are large enough for it."""

from __future__ import annotations

import pytest

from torchwhy.detect.rules.violations import Interval, Row, Specificity, Violation
from torchwhy.detect.views.nonfinite.rounding import is_rounded_difference, is_rounding
from torchwhy.record.events import Operand, TensorFacts

AT_LEAST_0 = Interval(0.0, float("inf"), closed=True)
ABOVE_0 = Interval(0.0, float("inf"))
COSINES = Interval(-1.0, 1.0, closed=True)


def violation(value, domain, *, largest=1.0, subtracted=None, dtype="float32"):
    facts = TensorFacts(dtype=dtype, shape=[4], minimum=min(value, 0.0), maximum=largest)
    operand = Operand(
        tensor=facts, born_minimum=value, born_maximum=value, largest_subtracted=subtracted
    )
    row = Row("domain-error", "function", Specificity.FUNCTION)
    return Violation(row, operand, value, domain)


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        (violation(1.0000002, COSINES), True),
        (violation(1.01, COSINES), False),
        (violation(-1e-6, AT_LEAST_0), True),
        (violation(-1e-3, AT_LEAST_0), False),
        (violation(-2e-5, AT_LEAST_0, largest=1e-3), False),
        (violation(-2e-5, AT_LEAST_0, largest=1e-3, subtracted=53.0), True),
        (violation(-1e-3, AT_LEAST_0, subtracted=1.0, dtype="float16"), True),
        (violation(0.0, ABOVE_0), False),
        (violation(0.0, ABOVE_0, subtracted=1.0), True),
    ],
)
def test_the_distance_is_measured_in_units_of_the_inputs(case, wanted):
    assert is_rounding(case) is wanted


def test_a_logarithm_of_no_difference_is_never_off_by_rounding():
    assert not is_rounded_difference(violation(-1e-9, ABOVE_0))
    assert is_rounded_difference(violation(-1e-9, ABOVE_0, subtracted=1.0))
