"""No code reads our sentences: with every one of them replaced by "x", all programs get the same answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from tests.support.run_fixes import Fixed, run_fixes
from tests.support.run_program import RUN, Outcome, ProgramText
from tests.support.snapshots import proposed
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
        mock.patch.object(Finding, "message", "x"),
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


def answers(report: Report, changes: list[Fix]) -> list[object]:
    """Return all that a report says besides its sentences: causes, places, order, proposed changes."""
    return [report.outcome, *map(_skeleton, report.findings), *(fix.diff for fix in changes)]


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
    expected = answers(outcome.report, proposed(outcome))

    with without_prose():
        report = diagnose(outcome.run_directory)
        root = report.root_cause
        directory = outcome.run_directory.parents[len(RUN.parts) - 1]
        blind = answers(report, [] if root is None else candidates(root, directory))

    assert blind == expected


# One program of each family whose fix is tried: the verdict of a trial depends on no sentence either.
TRIED = (
    "log-of-nonpositive/broken/logarithm_in_a_closure",
    "learning-rate-too-high/broken/rate_in_a_dataclass",
    "missing-optimizer-step/broken/step_forgotten_in_a_trainer",
    "linear-size-mismatch/broken/sizes_in_a_list",
    "retained-graph/broken/losses_added_up_in_an_attribute",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIED)
def test_trials_do_not_depend_on_sentences(name: str, tmp_path: Path) -> None:
    program = next(program for program in PINNED if program.id == name)
    plain = run_fixes([program], tmp_path / "plain")[program.id]

    with without_prose():
        blind = run_fixes([program], tmp_path / "blind")[program.id]

    assert verdicts(blind) == verdicts(plain) != []


def verdicts(fixed: Fixed) -> list[tuple[str, str]]:
    """Return what was tried and what came of it."""
    assert fixed.finding is not None
    return [(fix.diff, fix.trial.verdict) for fix in fixed.finding.fixes if fix.diff]
