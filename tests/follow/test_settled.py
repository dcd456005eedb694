"""No program makes torchwhy tell an error while it runs that the report of the whole run does not have.

Each recorded program is looked at as if it were running: after some of its steps, and after all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.run_program import Outcome, ProgramText
from tests.test_programs import BROKEN, HEALTHY
from torchwhy.detect.registry import all_detectors
from torchwhy.finding import Finding
from torchwhy.follow.live_diagnosis import LiveDiagnosis, is_among
from torchwhy.record.events import Event, Step
from torchwhy.record.run_file import read_run, read_traces
from torchwhy.record.trace import Trace

AFTER_STEPS = (9, 17, 25, 33, 41, 60, 120, 240)
SETTLED = {name for name, cause in all_detectors().items() if cause.settled}
LOUD = [program for program in BROKEN if program.expected and program.expected[0] in SETTLED]


def told_while_running(run_directory: Path) -> list[Finding]:
    """Return what is told of a recorded run if it is looked at after some of its steps."""
    live = LiveDiagnosis(Path(read_run(run_directory).directory))
    whole = read_traces(run_directory)
    for count in (*AFTER_STEPS, None):
        live.look([_until(trace, count) for trace in whole])
    return [*live.told, *live.withdrawn]


def _until(trace: Trace, count: int | None) -> Trace:
    """Return a trace up to this many steps."""
    events: list[Event] = []
    for event in trace.events:
        if isinstance(event, Step) and count is not None:
            count -= 1
            if count < 0:
                break
        events.append(event)
    return Trace(tuple(events), rank=trace.rank)


@pytest.mark.parametrize("program", [*HEALTHY, *LOUD], ids=lambda program: program.id)
def test_what_is_told_early_is_an_error_at_the_end(
    program: ProgramText, outcomes: dict[str, Outcome]
) -> None:
    outcome = outcomes[program.id]
    errors = [one for one in outcome.report.findings if one.severity == "error"]

    told = told_while_running(outcome.run_directory)

    assert [one for one in told if not is_among(one, errors)] == []
