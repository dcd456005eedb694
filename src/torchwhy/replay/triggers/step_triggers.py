"""Decides from numbers at hand whether a later step is worth a look through the microscope, or an experiment.

A run whose loss falls pays a comparison per step. A loss that rests, grows, or leaves no gradient at all gets
single steps looked at, and its curvature measured; never in a compiled program, never in a rerun.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from torchwhy.observe.steps.sentinel import Check
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.record.numbers import decode
from torchwhy.replay.experiments.curvature import Curvature
from torchwhy.replay.experiments.symmetry import Symmetry
from torchwhy.replay.triggers.loss_statistics import GREW, LossStatistics

if TYPE_CHECKING:
    from torchwhy.observe.steps.watched_optimizers import WatchedOptimizer
    from torchwhy.replay.equipment import Stage

MOST_LOOKS = (
    8  # later steps looked at in one run: marks double, so eight of them reach beyond 3000 steps
)
MOST_LOOK_SECONDS = 5.0  # of our own time for one later look
MOST_AT_ONCE = 64  # losses of quiet steps that are judged together
MOST_MEASURED = 4  # times the curvature is asked for in one run
LOOK_OVER = "the look at a later step is over"


class Triggers:
    """Follows the losses of every optimizer and keeps what the next step is wanted for."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._statistics: dict[int, LossStatistics] = {}
        self._last: WatchedOptimizer | None = None
        self._interleaved = False
        self._looks = 0
        self._looking_for: int | None = None
        self._look_began = 0
        self._asked: list[str] = []
        self._wanted: tuple[str, WatchedOptimizer] | None = None
        protect = stage.session.guests.protect
        self.curvature = Curvature(stage.session)
        self._measure = protect("curvature experiment", self.curvature.measure)
        self._tell_curvature = protect("curvature experiment", self.curvature.after_step)
        self._check_symmetry = protect("symmetry experiment", Symmetry(stage.session).check)

    @property
    def is_idle(self) -> bool:
        """Tell whether nothing is wanted of the next step."""
        return self._wanted is None and self._looking_for is None and not self.curvature.is_waiting

    @property
    def is_looking(self) -> bool:
        """Tell whether the microscope is on because of a signal."""
        return self._looking_for is not None

    def before_backward(self, losses: list[torch.Tensor]) -> None:
        """Measure the curvature of the loss, if a signal asked for it: its graph is there, nobody's code is called."""
        if self.is_looking:
            self._stage.graph.write_places(losses)
        if self._wanted is None or not losses or self._stage.compiles or self._interleaved:
            return
        reason, watched = self._wanted
        self._wanted = None
        statistics = self._statistics[watched.index]
        if statistics.backwards == 1 and len(losses) == 1:
            self._measure(losses[0], watched, reason)

    def after_step(self, check: Check | None) -> None:
        """Judge the step that was just made and prepare the next one accordingly."""
        if self.curvature.is_waiting:
            self._tell_curvature()
        if (
            check is None
            or check.watched is None
            or check.has_closure
            or check.is_bad
            or not check.losses
        ):
            return
        watched = check.watched
        self._note_interleaving(watched)
        statistics = self._statistics.setdefault(watched.index, LossStatistics())
        statistics.backwards = len(check.losses)
        statistics.add(math.fsum(map(decode, check.losses)) / len(check.losses))
        self._end_look(watched)
        if self._stage.compiles:
            return
        self._check_symmetry(watched)
        reason = self._reason(statistics, watched)
        if reason is not None:
            self._ask(reason, watched)

    def limits(self, watched: WatchedOptimizer) -> tuple[float, int]:
        """Return the loss above which, and the number of steps after which, `take` is to be called."""
        statistics = self._statistics.get(watched.index)
        if statistics is None:
            return math.inf, MOST_AT_ONCE
        highest = GREW * statistics.first if statistics.first > 0 else math.inf
        return highest, max(1, min(MOST_AT_ONCE, statistics.mark - statistics.steps))

    def take(self, watched: WatchedOptimizer, losses: list[float]) -> None:
        """Judge some steps by their losses alone, as `after_step` judges one."""
        statistics = self._statistics.get(watched.index)
        if statistics is None:
            return
        self._note_interleaving(watched)
        for loss in losses:
            statistics.add(loss)
        watched.gradient_sizes = None
        reason = None if self._stage.compiles else self._reason(statistics, watched)
        if reason is not None:
            self._ask(reason, watched)

    def leave(self) -> None:
        """Want nothing any more."""
        self._looking_for = self._wanted = None

    def _note_interleaving(self, watched: WatchedOptimizer) -> None:
        """Two optimizers in turn train against each other: their losses say little about either's progress."""
        if self._last is not None and self._last is not watched and watched.steps:
            self._interleaved = True
        self._last = watched

    def _reason(self, statistics: LossStatistics, watched: WatchedOptimizer) -> str | None:
        """Return what is odd about the course so far, in a word."""
        if statistics.steps > 1 and _nothing_flows(watched):
            return "no gradient"
        if statistics.grew:
            return "grew"
        if statistics.grew_early:
            return "grew early"
        if statistics.at_mark() and not statistics.falls():
            return f"rests at {statistics.mark}"
        return None

    def _ask(self, reason: str, watched: WatchedOptimizer) -> None:
        if reason in self._asked:
            return
        self._asked.append(reason)
        if len(self._asked) <= MOST_MEASURED and reason != "no gradient":
            self._wanted = (reason, watched)
        if reason != "grew early" and self._looks < MOST_LOOKS:
            self._begin_look(watched)

    def _begin_look(self, watched: WatchedOptimizer) -> None:
        stage = self._stage
        if stage.microscope.is_on:
            return
        self._looks += 1
        self._looking_for = watched.index
        self._look_began = stage.session.sentinel.step
        stage.look_without_limit(stage.session.sentinel.step + 1)
        stage.microscope.limit_seconds = stage.microscope.seconds + MOST_LOOK_SECONDS

    def _end_look(self, watched: WatchedOptimizer) -> None:
        """The look lasts until the optimizer that asked for it has made its next step, or others have made many."""
        if self._looking_for is None:
            return
        waited = self._stage.session.sentinel.step - self._look_began
        if (
            watched.index == self._looking_for
            or waited > 2 * self._stage.session.sentinel.optimizers.count
        ):
            self._looking_for = None
            self._stage.step_back(LOOK_OVER)


@unseen
def _nothing_flows(watched: WatchedOptimizer) -> bool:
    """Tell whether every gradient of the step is exactly zero; asked of the first steps, where it is known anyway."""
    sizes = watched.gradient_sizes
    return sizes is not None and bool(sizes) and all(size == 0 for size in sizes)
