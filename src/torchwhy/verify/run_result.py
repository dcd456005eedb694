"""How a run went, with or without a fix: its losses, its failure, its findings, the gradients of its first steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from statistics import fmean, median
from typing import NamedTuple

from torchwhy.detect.views.training.training import is_lower
from torchwhy.finding import Finding
from torchwhy.plain_data import dataclass
from torchwhy.record.events import ExceptionSeen, OptimizerMade, Replayed, Step, Weights
from torchwhy.record.numbers import decode
from torchwhy.record.run_file import Run
from torchwhy.record.trace import Trace

ENOUGH_LOSSES = 16  # Fewer losses are judged by their order, pair by pair.
FEWEST_LOSSES = 5  # Four losses fall by chance in one of 24 runs.
IN_ORDER = (
    2.2  # Standard errors of Kendall's statistic; five losses that fall each time have this many.
)
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


class FirstGradients(NamedTuple):
    """The RMS of each gradient that an optimizer got at its first step, by the name of its parameter."""

    optimizer: int
    name: str  # `Adam of train.py:8`
    sizes: dict[str, float]


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
    # The losses of each optimizer, if several made steps.
    players: tuple[tuple[float, ...], ...] = ()
    gradients: tuple[FirstGradients, ...] = ()
    unwatched: bool = False  # torchwhy could not start in it, so it ran without the change.

    @property
    def finite_losses(self) -> list[float]:
        """Return the losses before the first non-finite one."""
        return _finite(self.losses)

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
        """Tell whether the loss falls, with several optimizers that of each; None if there are too few losses."""
        if len(self.players) < 2:
            return falls(self.finite_losses)
        each = [falls(_finite(losses)) for losses in self.players]
        return None if None in each else all(each)

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


def _finite(losses: Sequence[float]) -> list[float]:
    return list(itertools.takewhile(math.isfinite, losses))


def falls(losses: Sequence[float]) -> bool | None:
    """Tell whether losses fall; None if there are too few to tell."""
    if len(losses) < ENOUGH_LOSSES:
        return True if _falls_in_order(losses) else None
    edge = len(losses) // 4
    last = list(losses[-edge:])
    return is_lower(last, than=list(losses[:edge])) or is_lower(
        last, than=list(losses[: _edge(losses)])
    )


def _falls_in_order(losses: Sequence[float]) -> bool:
    """Tell whether so many pairs of losses fall that chance does not explain it (the test of Mann and Kendall)."""
    count = len(losses)
    if count < FEWEST_LOSSES:
        return False
    pairs = itertools.combinations(losses, 2)
    score = sum((later < earlier) - (later > earlier) for earlier, later in pairs)
    error = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    return (score - 1) / error >= IN_ORDER


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
        players=_by_player(steps),
        gradients=tuple(_first_gradients(trace)),
    )


def _by_player(steps: Sequence[Step]) -> tuple[tuple[float, ...], ...]:
    """Return the losses of each optimizer; nothing if one optimizer has them all.

    Two optimizers that step after one backward pass share its loss, which counts for the first of them.
    """
    by_index: dict[int, list[float]] = {}
    for step in steps:
        if step.losses:
            by_index.setdefault(step.optimizer, []).append(fmean(map(decode, step.losses)))
    return tuple(map(tuple, by_index.values())) if len(by_index) > 1 else ()


def _first_gradients(trace: Trace) -> Iterator[FirstGradients]:
    names = {made.index: _name(made) for made in trace.of(OptimizerMade)}
    seen: set[int] = set()
    for weights in trace.of(Weights):
        if weights.optimizer in seen:
            continue
        seen.add(weights.optimizer)
        sizes = dict(zip(weights.names, map(decode, weights.gradient_rms), strict=True))
        yield FirstGradients(weights.optimizer, names.get(weights.optimizer, ""), sizes)


def _name(made: OptimizerMade) -> str:
    place = made.location
    return made.kind if place is None else f"{made.kind} of {place.file}:{place.line}"


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
