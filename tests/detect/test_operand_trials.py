"""What a trial changed, in words that derive from its fields."""

from __future__ import annotations

import pytest

from torchwhy.detect.views.crash.operand_trials import words_of
from torchwhy.record.crashes import Layer, OperandTrial

LINEAR = Layer(path="net.out", kind="Linear", text="Linear(in_features=3, out_features=1)")


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        (
            "resize-layer",
            {"target": "net.out", "parameter": "in_features", "right": 5, "wrong": 3},
            "make net.out an nn.Linear with in_features=5 instead of 3",
        ),
        (
            "resize-table",
            {"target": "net.words", "parameter": "num_embeddings", "right": 9, "wrong": 8},
            "make net.words with 9 rows instead of 8",
        ),
        (
            "swap-arguments",
            {"order": ["net(x)", "y"]},
            "pass the model's output first and the target second: net(x), y",
        ),
        (
            "use-reshape",
            {"target": "x.t()"},
            "use `reshape` instead of `view`: `x.t().reshape(…)`",
        ),
        ("squeeze-target", {"target": "y", "method": ".squeeze(1)"}, "y.squeeze(1)"),
        ("flatten-input", {"method": ".flatten(1)"}, ".flatten(1) on the input"),
        ("resize-layer", {"change": "make it larger"}, "make it larger"),
    ],
)
def test_a_trial_is_told_by_its_fields(kind, fields, words):
    trial = OperandTrial(kind=kind, worked=True, **fields)

    assert words_of(trial, LINEAR) == words
