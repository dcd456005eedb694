"""What every handler does around a step while the microscope is on: graph, census, cuts, and the written weights."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer
from torchwhy.observe.steps.check import Check
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.replay.graph.dropped_results import DroppedResults
from torchwhy.replay.graph.earlier_steps import EarlierSteps
from torchwhy.replay.graph.forward_graph import GraphWriter
from torchwhy.replay.graph.graph_cuts import GraphCuts, leaves_under
from torchwhy.replay.microscope.backward_log import is_torchs_own, note_update
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.microscope.operations import tensors_in
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.nonfinite.spoiled_values import SpoiledValues, bad_parameters
from torchwhy.replay.observing.switch import MicroscopeSwitch
from torchwhy.replay.parameters.census import Census
from torchwhy.replay.parameters.parameter_memory import ParameterMemory


class ObservedStep:
    """Records one step, in the order of its events."""

    def __init__(
        self,
        microscope: Microscope,
        switch: MicroscopeSwitch,
        *,
        graph: GraphWriter,
        cuts: GraphCuts,
        dropped: DroppedResults,
        census: Census,
        earlier_steps: EarlierSteps,
        memory: ParameterMemory,
        nonfinite_log: NonfiniteLog,
        spoiled_values: SpoiledValues,
        state: TrainingState,
        protect: Callable[..., Any],
    ) -> None:
        self._microscope = microscope
        self._switch = switch
        self._nonfinite_log = nonfinite_log
        self._spoiled_values = spoiled_values
        self._state = state
        self._earlier_steps = earlier_steps
        self._graph = graph
        self._keep_forwards = protect("graph probe", self._keep_operations)
        self._write_graph = protect("graph probe", graph.write_ancestors)
        self._write_cuts = protect("graph probe", cuts.write)
        self._write_dropped = protect("graph probe", dropped.write)
        self._write_census = protect("census probe", census.write)
        self._note_holder = protect("phase probe", memory.held_by)
        self._cut_check: Check | None = None  # the step whose cuts were written

    def begin_backward(self) -> None:
        """Look again after a pause, and forget the call site of the last backward pass."""
        self._switch.backward_begins()
        self._microscope.resume()
        self._microscope.backward_log.begin()

    def begin_manual_step(self) -> None:
        """Number the steps of a program without an optimizer, in which a backward pass ends the step."""
        step = self._state.step
        self._microscope.step, self._microscope.next_step = step, step + 1
        if self._microscope.is_on and step:
            self._nonfinite_log.drop_reaches()

    def write_graph(self, losses: list[torch.Tensor], *, accumulates: bool) -> None:
        """Write the graph of the losses, and the cuts in it if a closure computes them in its first step."""
        if not self._microscope.is_on:
            return
        self._write_graph(losses, accumulates=accumulates)
        self._write_dropped()
        check = self._state.open_check
        if check is None or check.watched is None or check.watched.steps or not check.has_closure:
            return
        fed = leaves_under(losses) if check is not self._cut_check else None
        self._cut_check = check
        if fed is not None:
            self._write_cuts(check, fed=fed)

    def note_first_step(self, check: Check) -> None:
        """Note which parameters an optimizer holds at its first step."""
        watched = check.watched
        if watched is not None and not watched.steps:
            self._note_holder(watched.index, watched.parameters())

    def write_parameters(self, check: Check, *, optimizers: set[int]) -> None:
        """Write the census and the cuts before the first step of an optimizer."""
        self._write_census(check, optimizers=optimizers)
        self._write_cuts(check)
        self._write_dropped()
        gradients = check.watched.gradients() if check.watched is not None else []
        if any(gradient is not None for gradient in gradients):
            self._cut_check = check

    def pause_for_update(self, watched: WatchedOptimizer) -> None:
        """Let an optimizer of torch write unseen: its gradients are finite, and its arithmetic is well known."""
        microscope = self._microscope
        if (
            microscope.logs_briefly
            and is_torchs_own(watched.optimizer)
            and not self._takes_bad_values(watched)
        ):
            microscope.pause()
            microscope.missed_update = microscope.is_paused

    def _takes_bad_values(self, watched: WatchedOptimizer) -> bool:
        """Tell whether bad values passed into what an update reads; those that masks hide do not."""
        if not self._nonfinite_log.is_open:
            return False
        states = (state.values() for state in watched.optimizer.state.values())
        read = (*watched.parameters(), *watched.gradients(), *itertools.chain(*states))
        return any(map(self._microscope.memory_writers.births_of, tensors_in(read)))

    def end_update(self, check: Check | None) -> None:
        """Take the mode off torch's stack if it is not needed, and note an update that ran during a pause."""
        self._microscope.tidy()
        if self._microscope.is_paused and check is not None and check.watched is not None:
            note_update(self._microscope, check.watched.parameters())

    def has_written_bad(self, check: Check) -> bool:
        """Judge the weights right after an update, while the operations that wrote them are known."""
        if not self._microscope.is_on and not check.has_closure:
            return False
        bad = bad_parameters(check) if not check.is_bad else []
        if not bad and not (check.has_closure and check.bad_loss):
            return False
        check.bad_parameters = bad
        self._spoiled_values.note_parameters(check)
        return True

    def begin_next(self, *, keeps_forwards: bool) -> None:
        """Prepare the microscope for the next step; an optimizer that has not stepped may need this forward."""
        if self._microscope.is_on:
            self._nonfinite_log.drop_reaches()
            if keeps_forwards:
                self._keep_forwards()
            self._switch.begin_step(self._state.step + 1)

    def _keep_operations(self) -> None:
        self._earlier_steps.keep(self._microscope.forward_operations())
        self._graph.end_step()

    def resume(self) -> None:
        """Look again after an update; not before its end, so that our own computations stay unseen."""
        self._microscope.resume()
