"""One trial: the same command with the same seeds and one change, run well past the failure."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from torchwhy.finding import Finding, Fix, Trial
from torchwhy.observe.launch import run_quietly
from torchwhy.record.events import Replayed
from torchwhy.record.run_file import BOOT_FAILURE, Run, read_run, read_traces
from torchwhy.verify import scratch
from torchwhy.verify.diffs import edited_texts
from torchwhy.verify.edited_copies import lay
from torchwhy.verify.run_result import Failure, RunResult, compare, result_of

LEAST_MARGIN = 100  # Fewer steps past the failure would miss a slow relapse.
MARGIN_SHARE = 0.5

Examine = Callable[[Path], Sequence[Finding]]
Launch = Callable[[Path, Run, float], Run]


def _launch(trial_directory: Path, run: Run, limit_seconds: float) -> Run:
    return run_quietly(trial_directory, run, limit_seconds=limit_seconds)


@dataclass(frozen=True)
class Laboratory:
    """What the trials of one run share; `examine` returns the findings of a recorded run, `launch` runs one.

    A trial runs in a copy of the program's directory if possible, so that it does not overwrite output files.
    """

    run_directory: Path
    finding: Finding
    examine: Examine
    launch: Launch = _launch

    @property
    def directory(self) -> Path:
        """Return the program's working directory."""
        return Path(read_run(self.run_directory).directory)

    @property
    def run_seconds(self) -> float:
        """Return how long the broken run took."""
        return read_run(self.run_directory).seconds or 0.0

    def control(self, findings: Sequence[Finding]) -> RunResult:
        """Return the result of the broken run as recorded."""
        run = read_run(self.run_directory)
        since = self.finding.observed_from or 0
        return result_of(read_traces(self.run_directory), findings, run, since=since)

    def is_repeatable(self, control: RunResult) -> bool:
        """Tell whether the failure was reproduced, or is of a kind that always recurs."""
        traces = read_traces(self.run_directory)
        if control.failure is None or control.repeated or not any(one.alarms for one in traces):
            return True
        first = min(alarm.step for trace in traces for alarm in trace.alarms)
        return any(
            replayed.how == "first-step" and replayed.step == first
            for trace in traces
            for replayed in trace.of(Replayed)
        )

    def last_step(self, control: RunResult) -> int | None:
        """Return the last step of a trial, a margin past the failure; None if the program ended by itself."""
        if control.failure is None and not control.timed_out:
            return None
        failed = max(self.finding.step or 0, control.steps)
        return failed + max(LEAST_MARGIN, int(failed * MARGIN_SHARE))

    @cached_property
    def runs_in_place(self) -> str | None:
        """Return why trials run in the program's own directory; None if they run in a copy of it."""
        original = read_run(self.run_directory)
        return scratch.reason_against(original.command, self.directory)

    def place_of(self, name: str, *, in_copy: bool) -> Path:
        """Return the run directory of a trial."""
        return self.run_directory / "trials" / (name if in_copy else f"{name}-in-place")

    def run(
        self, name: str, diff: str, *, stop_after_step: int | None, limit_seconds: float
    ) -> RunResult:
        """Run the program in `trials/<name>`, with a change unless `diff` is empty, and return its result."""
        began = time.monotonic()
        result = None
        if self.runs_in_place is None:
            result = self._run(name, diff, stop_after_step, limit_seconds, in_copy=True)
        if result is None or _needs_more(result.failure):
            left = limit_seconds - (time.monotonic() - began)
            result = self._run(name, diff, stop_after_step, left, in_copy=False)
        return result

    def _run(
        self,
        name: str,
        diff: str,
        stop_after_step: int | None,
        limit_seconds: float,
        *,
        in_copy: bool,
    ) -> RunResult:
        place = self.place_of(name, in_copy=in_copy)
        place.mkdir(parents=True, exist_ok=True)
        original = read_run(self.run_directory)
        directory = Path(original.directory)
        texts = edited_texts(diff, directory) if diff else {}
        if in_copy:
            directory = scratch.copy(directory, place / "directory").directory
            texts = scratch.moved(texts, Path(original.directory), directory)
        if diff:
            lay(place, texts)
            (place / "change.diff").write_text(diff, encoding="utf8")
        unstarted = Run(
            command=original.command,
            directory=os.fspath(directory),
            hash_seed=original.hash_seed,
            seeds_from=os.fspath(self.run_directory.absolute()),
            stop_after_step=stop_after_step,
        )
        try:
            ended = self.launch(place, unstarted, limit_seconds)
            since = self.finding.observed_from or 0
            traces = read_traces(place)
            result = result_of(traces, self.examine(place), ended, since=since)
            unwatched = not traces and (place / BOOT_FAILURE).exists()
            return replace(result, unwatched=unwatched)
        finally:
            shutil.rmtree(place / "directory", ignore_errors=True)


@dataclass(frozen=True)
class Tried:
    """A fix with its trial, and the result of the trial's run."""

    fix: Fix
    result: RunResult | None = None
    left_the_copy: bool = False


def try_fix(
    laboratory: Laboratory, fix: Fix, *, control: RunResult, name: str, limit_seconds: float
) -> Tried:
    """Run a trial of a fix and return both."""
    result = laboratory.run(
        name,
        fix.diff,
        stop_after_step=laboratory.last_step(control),
        limit_seconds=limit_seconds,
    )
    verdict, reason = compare(control, result, laboratory.finding)
    trial = Trial(
        verdict,
        result.steps,
        before=control.measures(),
        after=result.measures(),
        with_it=with_the_fix(control, result, reason=reason),
        without_it=f"without it: {_without(control)}",
        before_losses=control.curve(),
        after_losses=result.curve(),
    )
    went_out = (
        laboratory.runs_in_place is None and laboratory.place_of(name, in_copy=False).exists()
    )
    return Tried(replace(fix, trial=trial), result, left_the_copy=went_out)


def with_the_fix(control: RunResult, result: RunResult, *, reason: str) -> str:
    """Return how the run went with the fix."""
    parts = [_how_far(control, result), result.in_words(), reason]
    return "with it: " + ", ".join(part for part in parts if part)


def _how_far(control: RunResult, result: RunResult) -> str:
    if result.failure is not None:
        return ""
    if control.failure is not None and result.steps > control.steps:
        return f"{_counted(result.steps - control.steps)} past the failure"
    return _counted(result.steps) if result.steps else "it ran to the end"


def _needs_more(failure: Failure | None) -> bool:
    """Tell whether the program failed for want of a file that the copy lacks."""
    return failure is not None and failure.is_exception and failure.what in scratch.NEEDS_MORE


def _counted(steps: int) -> str:
    return "1 step" if steps == 1 else f"{steps} steps"


def _without(control: RunResult) -> str:
    if control.failure is not None:
        return control.failure.when("again at step" if control.repeated else "at step")
    found = control.findings[0].detector if control.findings else ""
    return ", ".join(part for part in (found, control.in_words(), _counted(control.steps)) if part)
