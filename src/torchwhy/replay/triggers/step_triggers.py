"""Decides from the losses whether a later step deserves an observation, or an experiment.

A run whose loss falls pays one comparison per step. If a loss stalls, grows, or leaves no gradient, single steps are
observed and the curvature of the loss is measured; never in a compiled program, never in a rerun.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer, WatchedOptimizers
from torchwhy.observe.steps.check import Check
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.mode_stack import is_profiling, unseen
from torchwhy.record.numbers import decode
from torchwhy.replay.experiments.curvature import Curvature
from torchwhy.replay.experiments.symmetry import Symmetry
from torchwhy.replay.graph.forward_graph import GraphWriter
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.observing.switch import MicroscopeSwitch
from torchwhy.replay.triggers.loss_statistics import FIRST_MARK, GREW, LossStatistics

MOST_OBSERVED = (
    8  # later steps of one run: the marks double, so eight of them reach beyond 3000 steps
)
MOST_WORK = 20_000  # of the microscope for one later step, in operations
MOST_AT_ONCE = 64  # losses of quiet steps that are judged together
MOST_MEASURED = 4  # measurements of the curvature in one run
OVER = "the look at a later step is over"
# With more parameter tensors, an observation or the curvature takes as long as five steps, so what may be a whim of the
# first steps does not suffice: a loss that was once twice as high, or that has not fallen by the first mark. For one
# that rests later, the two are made in different steps; one that grows may be infinite by the next.
MOST_PARAMETERS = 100
RESTS = "rests at"
WHIMS = ("grew early", f"{RESTS} {2 * FIRST_MARK}")


class Triggers:
    """Follows the losses of every optimizer and remembers what the next step is wanted for."""

    def __init__(
        self,
        microscope: Microscope,
        switch: MicroscopeSwitch,
        *,
        graph: GraphWriter,
        curvature: Curvature,
        symmetry: Symmetry,
        optimizers: WatchedOptimizers,
        state: TrainingState,
        protect: Callable[..., Any],
    ) -> None:
        self._microscope = microscope
        self._switch = switch
        self._graph = graph
        self._curvature = curvature
        self._optimizers = optimizers
        self._state = state
        self._statistics: dict[int, LossStatistics] = {}
        self._last: WatchedOptimizer | None = None
        self._interleaved = False
        self._observed = 0
        self._observing_for: int | None = None
        self._began = 0
        self._asked: list[str] = []
        self._wanted: tuple[str, WatchedOptimizer] | None = None
        self._measure = protect("curvature experiment", curvature.measure)
        self._tell_curvature = protect("curvature experiment", curvature.after_step)
        self._check_symmetry = protect("symmetry experiment", symmetry.check)

    @property
    def is_idle(self) -> bool:
        """Tell whether the next step is wanted for nothing."""
        is_waiting = self._curvature.is_waiting
        return self._wanted is None and self._observing_for is None and not is_waiting

    @property
    def is_measuring(self) -> bool:
        """Tell whether we differentiate the loss ourselves right now."""
        return self._curvature.is_running

    @property
    def is_observing(self) -> bool:
        """Tell whether the microscope is on because of a trigger."""
        return self._observing_for is not None

    def before_backward(self, losses: list[torch.Tensor]) -> None:
        """Measure the curvature of the loss if a trigger asked for it: now its graph exists."""
        if self.is_observing:
            self._graph.write_places(losses)
        if self._wanted is None or not losses:
            return
        reason, watched = self._wanted
        if self.is_observing and reason.startswith(RESTS) and _is_large(watched):
            return  # Measure after the observation.
        self._wanted = None
        if self._switch.compiles or self._interleaved:
            return
        if self._statistics[watched.index].backwards == 1 and len(losses) == 1:
            self._measure(losses[0], watched, reason)

    def after_step(self, check: Check | None) -> None:
        """Judge the step that was just made, and prepare the next one accordingly."""
        if self._curvature.is_waiting:
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
        self._end_observation(watched)
        if self._switch.compiles:
            return
        self._check_symmetry(watched)
        self._ask(_reason(statistics, watched), watched)

    def limits(self, watched: WatchedOptimizer) -> tuple[float, int]:
        """Return the loss above which, and the number of steps after which, to call `take`."""
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
        if not self._switch.compiles:
            self._ask(_reason(statistics, watched), watched)

    def _note_interleaving(self, watched: WatchedOptimizer) -> None:
        """Note optimizers that step in turn: they train against each other, so a loss tells little about progress."""
        if self._last is not None and self._last is not watched and watched.steps:
            self._interleaved = True
        self._last = watched

    def _ask(self, reason: str | None, watched: WatchedOptimizer) -> None:
        """Want the next step for an experiment or an observation; once for each reason."""
        if reason is None or reason in self._asked:
            return
        if reason in WHIMS and _is_large(watched):
            return
        self._asked.append(reason)
        if len(self._asked) <= MOST_MEASURED and reason != "no gradient":
            self._wanted = (reason, watched)
        if reason != "grew early" and self._observed < MOST_OBSERVED:
            self._begin_observation(watched)

    def _begin_observation(self, watched: WatchedOptimizer) -> None:
        if self._microscope.is_on or is_profiling() or self._switch.ran_out or self._switch.gave_up:
            return  # A step that was too long once is so again, and a part of it explains little.
        self._observed += 1
        self._observing_for = watched.index
        self._began = self._state.step
        self._switch.put_on_without_limit(self._state.step + 1, work=MOST_WORK)
        self._microscope.logs_briefly = (
            True  # backward passes explain nothing while gradients are finite
        )

    def _end_observation(self, watched: WatchedOptimizer) -> None:
        """End after the next step of the optimizer that asked for it, or after many of others."""
        if self._observing_for is None:
            return
        waited = self._state.step - self._began
        if watched.index == self._observing_for or waited > 2 * self._optimizers.count:
            self._observing_for = None
            self._switch.take_off(OVER)


def _is_large(watched: WatchedOptimizer) -> bool:
    return len(watched.parameters()) > MOST_PARAMETERS


def _reason(statistics: LossStatistics, watched: WatchedOptimizer) -> str | None:
    """Return what is odd about the losses so far, in a word."""
    if statistics.steps > 1 and _nothing_flows(watched):
        return "no gradient"
    if statistics.grew:
        return "grew"
    if statistics.grew_early:
        return "grew early"
    if statistics.at_mark() and not statistics.falls():
        return f"{RESTS} {statistics.mark}"
    return None


@unseen
def _nothing_flows(watched: WatchedOptimizer) -> bool:
    """Tell whether every gradient of the step is exactly zero, if their sizes were measured."""
    sizes = watched.gradient_sizes
    return sizes is not None and bool(sizes) and all(size == 0 for size in sizes)
