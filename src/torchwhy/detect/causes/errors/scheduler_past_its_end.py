from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import SCHEDULE
from torchwhy.detect.fixes.training import schedules
from torchwhy.detect.rules.message_kinds import ScheduleOver
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import CallsCounted
from torchwhy.source.analyses.constructors import only_call
from torchwhy.source.analyses.made_places import object_made_at
from torchwhy.source.calls import method_of
from torchwhy.source.edits import Source


class ScheduleTooShort(Diagnosis):
    """A schedule with a fixed number of steps was stepped once more."""

    kind_of_schedule: str
    expression: str
    length: int
    made: int  # the step that raised, from 1
    wanted: int | None  # how often the loops around the call run
    before: int  # steps that a loaded state had made before this run
    message = "{kind_of_schedule} was made for {length} steps, but `{expression}` is called {often}"

    @property
    def often(self) -> str:
        """Return how often the loop steps it."""
        if self.before:
            return f"after {self.made - 1} steps, {self.before} of them before this run"
        if self.wanted is not None and self.wanted > self.length:
            return f"{self.wanted} times by the loops around it"
        return f"a {self.made}th time" if 3 < self.made % 100 < 21 else f"for step {self.made}"

    @property
    def total(self) -> str:
        """Return the number of steps to make it for, as code."""
        total = "epochs * len(loader)"
        if self.wanted is not None and self.wanted + self.before > self.length:
            total = str(self.wanted + self.before)
        return total

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            f"make the schedule as long as the training: `total_steps={self.total}`",
            "if it should be stepped once per epoch, move the call out of the loop over batches",
        )


class SchedulerPastItsEnd(Detector):
    """A schedule of fixed length is stepped beyond its last step."""

    name = "scheduler-past-its-end"
    question = SCHEDULE

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if isinstance(crash.said, ScheduleOver):
                yield self._finding(crash, crash.said)

    def _finding(self, crash: CrashView, said: ScheduleOver) -> Finding:
        kind = crash.fact("schedule") or "the schedule"
        made_at = _made_at(crash, kind)
        diagnosis = ScheduleTooShort(
            kind_of_schedule=kind,
            expression=crash.expression,
            length=said.length,
            made=said.made,
            wanted=crash.count("schedule_wanted"),
            before=_before(crash, said),
        )
        steps = len(crash.trace.steps)
        planned = Evidence(f"it has {said.length} steps", value=float(said.length))
        seen = Evidence(f"it was stepped {said.length} times in {steps} optimizer steps")
        return crash.finding(
            self.name,
            diagnosis,
            location=made_at,
            evidence=[planned] if diagnosis.before else [planned, seen],
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        if isinstance(finding.diagnosis, ScheduleTooShort):
            yield from schedules.made_longer(
                finding.location,
                source,
                stepped=finding.symptom_at,
                wanted=finding.diagnosis.wanted,
            )


def _made_at(crash: CrashView, kind: str) -> SourceSpan | None:
    """Return the constructor of the schedule."""
    files = list(crash.trace.files.values())
    place = crash.event.location
    source = crash.trace.files.get(place.file) if place is not None else None
    stepped = method_of(source.at(place), "step") if source is not None else None
    if source is None or stepped is None:
        return only_call(files, kind)
    return object_made_at(files, source, stepped[1], kind) or only_call(files, kind)


def _before(crash: CrashView, said: ScheduleOver) -> int:
    """Return the steps that the schedule had made before this run; 0 if that is not known."""
    counted = [one for one in crash.trace.of(CallsCounted) if len(one.schedulers) == 1]
    if not counted:
        return 0
    (calls,) = counted[-1].schedulers.values()
    # The call that raised may or may not be counted.
    before = said.made - calls
    return before if before > 1 else 0
