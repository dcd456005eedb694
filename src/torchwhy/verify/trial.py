"""One trial: the same command with the same seeds and one change, run well past the failure."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from torchwhy.confine.confined_run import FileProtectedError, refused_path
from torchwhy.finding import Finding, Fix, Trial
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Replayed
from torchwhy.record.run_file import BOOT_FAILURE, Run, read_run, read_traces
from torchwhy.verify.diffs import edited_texts
from torchwhy.verify.edited_copies import lay
from torchwhy.verify.intents import thawed
from torchwhy.verify.run_result import RunResult, result_of
from torchwhy.verify.verdicts import compare, healthy_change

LEAST_MARGIN = 100  # Fewer steps past the failure would miss a slow relapse.
MARGIN_SHARE = 0.5

Examine = Callable[[Path], Sequence[Finding]]
Launch = Callable[[Path, Run, float], Run]


@dataclass(frozen=True)
class Laboratory:
    """What the trials of one run share; `examine` returns the findings of a recorded run, `launch` runs one."""

    run_directory: Path
    finding: Finding
    examine: Examine
    launch: Launch

    @property
    def directory(self) -> Path:
        """Return the program's working directory."""
        return Path(read_run(self.run_directory).directory)

    @property
    def command(self) -> tuple[str, ...]:
        """Return the command that ran the program."""
        return read_run(self.run_directory).command

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

    def run(
        self, name: str, fix: Fix, *, stop_after_step: int | None, limit_seconds: float
    ) -> RunResult:
        """Run the program with a change in `trials/<name>`, and return its result.

        Raise `FileProtectedError` if that is impossible without a change of a user's file.
        """
        place = self.run_directory / "trials" / name
        _make_anew(place)
        original = read_run(self.run_directory)
        if fix.diff:
            lay(place, edited_texts(fix.diff, self.directory))
            (place / "change.diff").write_text(fix.diff, encoding="utf8")
        unstarted = Run(
            command=fix.command or original.command,
            environment=fix.environment,
            directory=original.directory,
            hash_seed=original.hash_seed,
            seeds_from=os.fspath(self.run_directory.absolute()),
            stop_after_step=stop_after_step,
            keeps_data=original.keeps_data,
            allow=original.allow,
        )
        ended = self.launch(place, unstarted, limit_seconds)
        traces = read_traces(place)
        since = self.finding.observed_from or 0
        result = result_of(traces, self.examine(place), ended, since=since)
        refused = refused_path(place)
        if refused is not None and result.failure is not None and result.failure.is_exception:
            raise FileProtectedError(refused, changed=False)
        return replace(result, unwatched=not traces and (place / BOOT_FAILURE).exists())


def _make_anew(place: Path) -> None:
    """Make the run directory of a trial; nothing of an earlier one, and no link in it, may receive its output."""
    for folder in (place.parent, place):
        if folder.is_symlink():
            folder.unlink()
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True, exist_ok=True)


@dataclass(frozen=True)
class Tried:
    """A fix with its trial, and the result of the trial's run."""

    fix: Fix
    result: RunResult | None = None


def try_fix(
    laboratory: Laboratory, fix: Fix, *, control: RunResult, name: str, limit_seconds: float
) -> Tried:
    """Run a trial of a fix and return both."""
    result = laboratory.run(
        name,
        fix,
        stop_after_step=laboratory.last_step(control),
        limit_seconds=limit_seconds,
    )
    verdict, reason = compare(control, result, laboratory.finding, fix)
    undone = thawed(fix.diff, laboratory.directory) if verdict in ("cured", "runs") else None
    if undone is not None:
        verdict, reason = "changes-intent", f"no finding left, but without `{undone}`"
    trial = Trial(
        verdict,
        result.steps,
        before=control.measures(),
        after=result.measures(),
        with_it=with_the_fix(control, result, reason=reason),
        without_it=f"without it: {_without(control)}",
        before_losses=control.curve(),
        after_losses=result.curve(),
        healthy_change=healthy_change(control, result),
    )
    return Tried(replace(fix, trial=trial), result)


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


def _counted(steps: int) -> str:
    return "1 step" if steps == 1 else f"{steps} steps"


def _without(control: RunResult) -> str:
    if control.failure is not None:
        return control.failure.when("again at step" if control.repeated else "at step")
    found = control.findings[0].detector if control.findings else ""
    return ", ".join(part for part in (found, control.in_words(), _counted(control.steps)) if part)
