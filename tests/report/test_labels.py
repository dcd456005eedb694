"""A value stands under its operand in the source, and under nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report.examples import ROOT
from torchwhy.finding import Evidence, Label, SourceSpan
from torchwhy.report.excerpt import Line
from torchwhy.report.text.labels import column_of, placed_labels


def whole(text: str) -> Line:
    return Line(1, text, 0, len(text))


@pytest.mark.parametrize(
    ("name", "text", "column"),
    [
        ("x", "x / x.norm()", 0),
        ("x", "x.norm() / x", 11),
        ("x.norm()", "x / x.norm()", 4),
        ("x", "max_x + x", 8),
        ("x", "self.x + x[0]", 9),
        ("scores", "scores.gather(1, chosen)", 0),
        ("(d ** 2).sum()", "torch.sqrt((d**2).sum())", 11),
        ("float('-inf')", 'mask * float("-inf")', 7),
        ("exp", "exp(x)", None),
        ("y", "x + z", None),
        ("", "x + z", None),
    ],
)
def test_the_operand_is_found_by_its_text(name, text, column):
    assert column_of(name, whole(text)) == column


def test_outside_of_the_marked_columns_nothing_is_labelled():
    assert column_of("x", Line(1, "x = torch.log(y)", 4, 16)) is None


def test_the_place_that_made_an_operand_stands_beside_its_value():
    at = SourceSpan("train.py", 7)
    label = Label("x", "was 0")
    lines = [Line(7, "torch.log(x)", 0, 12)]

    def words(made: SourceSpan | None) -> list[str]:
        told = Evidence("x was 0", location=made, label=label)
        root = replace(ROOT, location=at, evidence=(told,))
        return [one.words for one in placed_labels(root, lines)]

    assert words(None) == words(at) == ["was 0"]
    assert words(SourceSpan("train.py", 3)) == ["was 0 (line 3)"]
    assert words(SourceSpan("net.py", 3)) == ["was 0 (net.py:3)"]


def test_an_expression_that_only_has_the_same_names_gets_no_label():
    told = Evidence("x: float32 3", label=Label("x", "float32 3"))
    made, raised = SourceSpan("train.py", 7), SourceSpan("train.py", 30)
    root = replace(ROOT, location=made, symptom_at=raised, evidence=(told,))

    assert placed_labels(root, [Line(7, "nn.Linear(x, 4)", 0, 15)]) == []
