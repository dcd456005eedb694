"""How a run went, with or without a fix: losses, failure, findings; and the verdict on a fix by comparing two runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from torchwhy.detect.views.training.training import is_lower
from torchwhy.finding import Finding, Verdict
from torchwhy.record.events import ExceptionSeen, Replayed
from torchwhy.record.numbers import decode
from torchwhy.record.run_file import Run
from torchwhy.record.trace import Trace

ENOUGH_LOSSES = 16  # Fewer losses of a noisy run do not show whether they fall.
REGAINED = 0.5  # A cured run must regain at least this share of what the broken one learnt before it failed.
OF_THE_LOSS = frozenset({"broadcast-in-loss"})
SAME = 1e-6  # Relative difference between losses of one batch with unchanged weights.
CURVE_POINTS = 200  # A curve in the report needs no more points.


@dataclass(frozen=True)
class Failure:
    """What ended a run: a value that is not finite, an exception by its type, or an exit code.

    `step` is None where no step is known, and 0 for an exception before the end of the first step.
    """

    what: str
    step: int | None = None
    is_nan: bool = False
    is_exception: bool = False

    def __str__(self) -> str:
        """Return `NaN at step 412`."""
        return self.when("at step")

    def when(self, at_step: str) -> str:
        """Return the failure and its step, after the words `at_step`."""
        if self.step is None:
            return self.what
        if self.is_exception and not self.step:
            return f"{self.what} before the end of the first step"
        return f"{self.what} {at_step} {self.step}"


@dataclass(frozen=True)
class RunResult:
    """One run to its end or to the trial's; `failure` is what ended it."""

    losses: tuple[float, ...]
    steps: int
    failure: Failure | None
    findings: tuple[Finding, ...]
    exit_code: int | None
    timed_out: bool = False
    repeated: bool = False  # A replay or a rerun reproduced the failure.
    players: int = 1  # The number of optimizers that made steps, each on a loss of its own.
    unwatched: bool = False  # torchwhy could not start in it, so it ran without the change.

    @property
    def finite_losses(self) -> list[float]:
        """Return the losses before the first non-finite one."""
        kept: list[float] = []
        for loss in self.losses:
            if not math.isfinite(loss):
                break
            kept.append(loss)
        return kept

    @property
    def first(self) -> float | None:
        """Return the median of the first losses."""
        finite = self.finite_losses
        return median(finite[: _edge(finite)]) if finite else None

    @property
    def last(self) -> float | None:
        """Return the median of the last losses."""
        finite = self.finite_losses
        return median(finite[-_edge(finite) :]) if finite else None

    @property
    def learns(self) -> bool | None:
        """Tell whether the loss falls; None if there are too few losses to tell."""
        return falls(self.finite_losses)

    def learns_after(self, step: int) -> bool | None:
        """Tell whether the loss falls from a step on; if the data changed there, earlier losses do not compare."""
        return falls(self.finite_losses[step:])

    def measures(self) -> dict[str, float]:
        """Return the numbers for report.json."""
        numbers = {"steps": float(self.steps), "loss_first": self.first, "loss_last": self.last}
        return {name: value for name, value in numbers.items() if value is not None}

    def curve(self) -> tuple[float, ...] | None:
        """Return the losses, thinned if there are very many."""
        if not self.losses:
            return None
        every = math.ceil(len(self.losses) / CURVE_POINTS)
        return (*self.losses[:-1:every], self.losses[-1])

    def in_words(self) -> str:
        """Return `loss 2.31 → 0.42`, or nothing with fewer than two losses."""
        if self.first is None or self.last is None or len(self.finite_losses) < 2:
            return ""
        return f"loss {self.first:.3g} → {self.last:.3g}"


def falls(losses: Sequence[float]) -> bool | None:
    """Tell whether losses fall; None if there are too few to tell."""
    if len(losses) < ENOUGH_LOSSES:
        return None
    edge = len(losses) // 4
    last = list(losses[-edge:])
    return is_lower(last, than=list(losses[:edge])) or is_lower(
        last, than=list(losses[: _edge(losses)])
    )


def _edge(losses: Sequence[float]) -> int:
    return max(1, min(10, len(losses) // 10))


def result_of(
    traces: Sequence[Trace], findings: Sequence[Finding], run: Run, *, since: int = 0
) -> RunResult:
    """Return the result of a run from its traces; with several ranks, from the first.

    Only losses from the step `since` on count: an earlier part of training has another loss.
    """
    if not traces:
        return RunResult((), 0, _exit(run), tuple(findings), run.exit_code, timed_out=run.timed_out)
    trace = traces[0]
    steps = [step for step in trace.steps if step.step >= since]
    losses = tuple(fmean(map(decode, step.losses)) for step in steps if step.losses)
    failures = [failure for one in traces if (failure := failure_of(one)) is not None]
    return RunResult(
        losses,
        max((step.step for step in trace.steps), default=-1) + 1,
        failures[0] if failures else _exit(run),
        tuple(findings),
        run.exit_code,
        timed_out=run.timed_out,
        repeated=any(
            replayed.reproduced
            for one in traces
            for trace_or_rerun in (one, one.rerun)
            if trace_or_rerun is not None
            for replayed in trace_or_rerun.of(Replayed)
            if replayed.how != "first-step"
        ),
        players=max(1, len({step.optimizer for step in steps})),
    )


def failure_of(trace: Trace) -> Failure | None:
    """Return what broke the run."""
    for alarm in trace.alarms:
        bad = [decode(loss) for loss in alarm.losses if not math.isfinite(decode(loss))]
        what = alarm.what if alarm.what in ("loss", "value", "evaluation") else f"{alarm.what}s"
        if any(map(math.isnan, bad)):
            return Failure("NaN", alarm.step, is_nan=True)
        return Failure("infinite loss" if bad else f"{what} not finite", alarm.step)
    for error in trace.of(ExceptionSeen):
        if not error.caught:
            return Failure(error.type, error.step or 0, is_exception=True)
    return None


def _exit(run: Run) -> Failure | None:
    if run.timed_out or not run.exit_code:
        return None
    return Failure(f"exit code {run.exit_code}")


def compare(control: RunResult, trial: RunResult, finding: Finding) -> tuple[Verdict, str]:
    """Return the verdict on a trial, and the reason for it."""
    if trial.unwatched:
        return "not-run", "torchwhy could not start in the changed program"
    left = remaining(trial, finding)
    failing_step = finding.step if control.failure is not None else None
    if trial.failure is not None:
        return "no-difference", str(trial.failure)
    if left is not None:
        return "no-difference", f"still {left.detector}: {left.message}"
    if trial.timed_out and (failing_step is None or trial.steps <= failing_step):
        return "not-run", f"the time limit ended it at step {trial.steps}, too early to tell"
    if stands_still(control, trial):
        return "symptom-only", "no failure, but also no step past it"
    if not learns_as_well(control, trial) and not is_another_loss(trial, finding):
        return "symptom-only", _does_not_learn(control, trial)
    return "cured", _all_well(control, trial)


def _all_well(control: RunResult, trial: RunResult) -> str:
    words = "no finding left" if not trial.findings else _left(trial)
    if goes_alike(control, trial):
        return f"{words}, the same losses as without it"
    later = trial.learns_after(control.steps) if control.failure is not None else None
    if trial.losses and not trial.learns and not later:
        few = trial.learns is None or (control.failure is not None and later is None)
        words += (
            ", too few steps to tell how well it learns" if few else ", but its loss does not fall"
        )
    return words


def remaining(trial: RunResult, finding: Finding) -> Finding | None:
    """Return the finding that still breaks the program: an error, or the same cause as before."""
    for one in trial.findings:
        if one.severity == "error" or one.detector == finding.detector:
            return one
    return None


def stands_still(control: RunResult, trial: RunResult) -> bool:
    """Tell whether a trial ended without a step past the failure, as a loop does that skips all bad batches."""
    return control.failure is not None and not trial.timed_out and trial.steps < control.steps


def learns_as_well(control: RunResult, trial: RunResult) -> bool:
    """Tell whether the cured program learns as well as the broken one did; True if there are too few losses."""
    if trial.learns is None:
        return True
    later = trial.learns_after(control.steps) if control.failure is not None else None
    if not trial.learns and not later:
        if control.failure is not None and later is None:
            return True
        # If the broken run had learnt nothing either, there may be nothing to learn.
        is_pinned = control.failure is not None and _is_constant(trial)
        return not control.learns and not _grew(trial) and not is_pinned
    if control.failure is not None and control.learns and not later:
        assert control.first is not None
        assert control.last is not None
        wanted = control.first - REGAINED * (control.first - control.last)
        return trial.last is not None and trial.last <= wanted
    return True


def is_another_loss(trial: RunResult, finding: Finding) -> bool:
    """Tell whether the loss with the cure is another quantity, or need not fall, so that the two do not compare.

    A broadcast loss, a mean over all pairs, falls although the model learns nothing. The losses of players that
    learn to beat each other need not fall.
    """
    return (finding.detector in OF_THE_LOSS or trial.players > 1) and not _grew(trial)


def is_convincing(control: RunResult, trial: RunResult) -> bool:
    """Tell whether a cured run visibly learns, or is too short to show it."""
    if trial.learns is not False or goes_alike(control, trial):
        return True
    later = trial.learns_after(control.steps) if control.failure is not None else False
    return later is not False


def goes_alike(control: RunResult, trial: RunResult) -> bool:
    """Tell whether a fix left the losses unchanged, as fixes for memory or evaluation must."""
    pairs = list(zip(control.losses, trial.losses, strict=False))
    return (
        control.failure is None
        and len(pairs) == len(control.losses) == len(trial.losses) > 1
        and all(math.isclose(before, after, rel_tol=1e-6) for before, after in pairs)
    )


def _grew(trial: RunResult) -> bool:
    return trial.first is not None and trial.last is not None and trial.last > 2 * abs(trial.first)


def _is_constant(trial: RunResult) -> bool:
    """Tell whether the loss is constant in the second half, because the change blocks the gradient."""
    losses = trial.finite_losses
    late = losses[len(losses) // 2 :]
    return len(losses) >= ENOUGH_LOSSES and max(late) - min(late) <= SAME * abs(max(late))


def _does_not_learn(control: RunResult, trial: RunResult) -> str:
    assert trial.last is not None
    gone = "the finding is gone"
    if control.failure is not None:
        gone = "no NaN" if control.failure.is_nan else "no failure"
    return f"{gone}, but the loss stays at {trial.last:.3g}"


def _left(trial: RunResult) -> str:
    first = trial.findings[0]
    return f"the {first.severity} {first.detector} is left"
