"""No detector judges on what is missing: with most facts left out, no program gets a finding it does not deserve."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.support.run_program import Outcome, ProgramText
from tests.support.thinning import thinned
from tests.test_programs import HEALTHY
from torchwhy import pipeline
from torchwhy.finding import Finding
from torchwhy.record.run_file import read_traces
from torchwhy.record.trace import Trace

KEPT = 12


def alarms(findings: tuple[Finding, ...]) -> set[tuple[str, str]]:
    """Return causes and severities of all findings."""
    return {(one.detector, one.severity) for one in _all(findings)}


def _all(findings: tuple[Finding, ...]) -> Iterator[Finding]:
    for one in findings:
        yield one
        yield from _all(one.explains)


def _thinned_traces(run_directory: Path) -> list[Trace]:
    return [thinned(trace, KEPT) for trace in read_traces(run_directory)]


@pytest.mark.parametrize("program", HEALTHY, ids=lambda program: program.id)
def test_healthy_program_is_silent_when_facts_are_left_out(
    program: ProgramText, outcomes: dict[str, Outcome]
) -> None:
    outcome = outcomes[program.id]

    with mock.patch.object(pipeline, "read_traces", _thinned_traces):
        thin = alarms(pipeline.diagnose(outcome.run_directory).findings)

    assert thin <= alarms(outcome.report.findings)
