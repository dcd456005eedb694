"""The headline says what broke, from data alone."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from tests.support.findings import said
from torchwhy.finding import Effect, Finding, SourceSpan
from torchwhy.report.headlines import WORDS, headline

RAISED = SourceSpan("src/net.py", 12, function="forward")
MADE = SourceSpan("src/net.py", 5, function="__init__")
FOUND = Finding("linear-size-mismatch", "error", said("x"), step=3, location=MADE)


def test_every_effect_has_its_words():
    assert set(WORDS) == set(get_args(Effect))


@pytest.mark.parametrize(
    ("effect", "words"),
    [
        ("training-broke", "training broke at step 3"),
        ("nan-in-evaluation", "evaluation produced NaN at step 3"),
        ("loss-never-falls", "the loss never falls"),
        ("memory-grows", "memory grows"),
        ("fault", "training has a problem at step 3"),
    ],
)
def test_only_a_moment_has_a_step(effect, words):
    assert headline(replace(FOUND, effect=effect)) == words


def test_an_exception_is_told_by_the_function_that_raised_it_not_by_the_place_to_change():
    raised = replace(FOUND, effect="exception", symptom_at=RAISED)

    assert headline(raised) == "an exception in forward at step 3"


@pytest.mark.parametrize("function", [None, "<module>", "<listcomp>"])
def test_an_exception_outside_of_named_functions_is_told_by_its_file(function):
    raised = replace(FOUND, effect="exception", symptom_at=replace(RAISED, function=function))

    assert headline(replace(raised, step=-1)) == "an exception in net.py before the first step"
