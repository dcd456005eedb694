"""Builds the probes of what a program keeps, and has them look before steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchwhy.observe.hooks import Hooks
from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer, WatchedOptimizers
from torchwhy.observe.probes.states.average_moves import AverageMoves
from torchwhy.observe.probes.states.checkpoint_reads import CheckpointReads
from torchwhy.observe.probes.states.copy_writers import CopyWriters
from torchwhy.observe.probes.states.held_on_rank import HeldOnRankProbe
from torchwhy.observe.probes.states.module_loads import ModuleLoads
from torchwhy.observe.probes.states.update_arrivals import UpdateArrivals
from torchwhy.observe.program.names import Names
from torchwhy.observe.steps.step_listeners import StepListeners
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.record.events import Event


class KeptState:
    """The probes of loaded states, checkpoints, averages, updates, and of what ranks hold."""

    def __init__(
        self,
        write: Callable[[Event], None],
        state: TrainingState,
        *,
        hooks: Hooks,
        names: Names,
        optimizers: WatchedOptimizers,
        ranks_train: Callable[[], object],
    ) -> None:
        self.listeners = StepListeners()
        self.reads = CheckpointReads(write, lambda: state.step, names)
        self.loads = ModuleLoads(write, lambda: state.step, optimizers, self.reads)
        self._averages = AverageMoves(write, names, optimizers, CopyWriters(hooks))
        self._updates = UpdateArrivals(write)
        self._held = HeldOnRankProbe(write, names, state, ranks_train=ranks_train)

    def listen(self, protect: Callable[..., Any]) -> None:
        """Have the probes look before the steps that go the thorough way."""
        self.listeners.add(protect("checkpoint probe", self._compare_checkpoints))
        self.listeners.add(protect("arrival probe", self._updates.before_step))
        self.listeners.add(protect("average probe", self._averages.before_step))
        self.listeners.add(protect("rank probe", self._held.before_step))
        self.listeners.add_for_backward(
            protect("rank probe", self._held.before_backward, computes=False)
        )

    def _compare_checkpoints(self, watched: WatchedOptimizer, _: int) -> None:
        if watched.steps == 0:
            self.reads.before_first_step(watched)
