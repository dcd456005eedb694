"""The judgement of the rehearsal's experiments on data, on answers as they are recorded."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detect.helpers import trace_with
from torchwhy.detect.causes.data.outliers import Outliers
from torchwhy.detect.causes.data.wrong_value_range import WrongValueRange
from torchwhy.detect.checks.questions.data.rows_weigh_alike import SLUG as OUTLIERS
from torchwhy.detect.checks.questions.data.value_range import SLUG as RANGE
from torchwhy.record.learning import Experiment
from torchwhy.record.trace import Trace

OUTLIER = {
    "distance": 900.0, "usual": 1.5, "value": 9e4, "median": 0.1, "role": "target", "rows": 32,
    "gradient": 800.0, "without": 2.0, "without others": [790.0, 805.0, 800.0],
}  # fmt: skip
BYTES = {
    "low": 0.0, "high": 255.0, "bytes": True, "raw before": 30.0, "scaled before": 2.3,
    "raw": [4.0, 3.5], "scaled": [0.4, 0.5], "last": [5.0, 4.0],
}  # fmt: skip


def _trace(slug: str, answer: dict[str, Any]) -> Trace:
    return trace_with(Experiment(step=10, question=slug, answer=answer))


def test_a_far_row_that_makes_up_the_gradient_is_reported() -> None:
    (finding,) = Outliers().scan(_trace(OUTLIERS, OUTLIER))

    assert finding.severity == "warning"
    assert finding.diagnosis.ratio == pytest.approx(400.0)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "change",
    [
        {"usual": 200.0},  # a heavy tail: one row in a hundred is nearly as far away
        {"without": 400.0},  # a loss that does not grow with the error
        {"without others": [790.0, 30.0, 800.0]},  # another row weighs as much
        {"without others": []},  # no control
    ],
    ids=["heavy-tail", "robust-loss", "not-alone", "no-control"],
)
def test_a_far_row_that_does_no_harm_is_not_reported(change: dict[str, Any]) -> None:
    assert not list(Outliers().scan(_trace(OUTLIERS, {**OUTLIER, **change})))


@pytest.mark.parametrize(
    ("change", "severity"),
    [
        ({}, "warning"),
        ({"last": [0.3, 0.2]}, "note"),  # in the end the program learns all the same
        ({"raw": [1.9, 1.8]}, "note"),
        ({"raw": [0.9, 0.6]}, None),
        ({"scaled": [2.28, 2.27]}, None),  # divided inputs are not learned either
        ({"bytes": False}, None),
    ],
)
def test_bytes_are_judged_by_what_division_gains(
    change: dict[str, Any], severity: str | None
) -> None:
    found = [one.severity for one in WrongValueRange().scan(_trace(RANGE, {**BYTES, **change}))]

    assert found == ([severity] if severity else [])
