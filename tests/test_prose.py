"""No code reads our sentences: with every one of them replaced by "x", all programs get the same answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import pytest

from tests.support.run_program import RUN, Outcome, ProgramText
from tests.test_snapshots import PINNED
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.pipeline import diagnose
from torchwhy.report.model import Report
from torchwhy.verify.candidates import candidates


@contextmanager
def without_prose() -> Iterator[None]:
    """Replace the text of every message, advice, title and piece of evidence as it is made."""
    with (
        mock.patch.object(Diagnosis, "fill", return_value="x"),
        mock.patch.object(Finding, "__init__", _forgetting(Finding, "message")),
        mock.patch.object(Evidence, "__init__", _forgetting(Evidence, "claim")),
        mock.patch.object(Fix, "__init__", _forgetting(Fix, "title")),
    ):
        yield


def _forgetting(cls: type, name: str) -> Callable[..., None]:
    """Return the constructor of a class that forgets one text."""
    original = cls.__init__

    def construct(self: object, *args: object, **kwargs: object) -> None:
        original(self, *args, **kwargs)
        object.__setattr__(self, name, "x")

    return construct


def answers(report: Report, outcome: Outcome) -> list[object]:
    """Return all that a report says besides its sentences: causes, places, order, proposed changes."""
    root = report.root_cause
    directory = outcome.run_directory.parents[len(RUN.parts) - 1]
    changes = [] if root is None else [fix.diff for fix in candidates(root, directory)]
    return [report.outcome, *map(_skeleton, report.findings), *changes]


def _skeleton(finding: Finding) -> object:
    return (
        *(finding.detector, finding.severity, finding.certainty, finding.step, finding.rank),
        *(finding.location, finding.sample, finding.births, finding.crash, finding.scope),
        [(one.value, one.step, one.location, one.series) for one in finding.evidence],
        [(fix.diff, fix.safety, fix.trial.verdict) for fix in finding.fixes],
        [_skeleton(below) for below in finding.explains],
    )


@pytest.mark.parametrize("program", PINNED, ids=lambda program: program.id)
def test_answers_do_not_depend_on_sentences(
    program: ProgramText, outcomes: dict[str, Outcome]
) -> None:
    outcome = outcomes[program.id]
    expected = answers(outcome.report, outcome)

    with without_prose():
        blind = answers(diagnose(outcome.run_directory), outcome)

    assert blind == expected
