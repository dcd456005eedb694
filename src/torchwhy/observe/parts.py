"""Builds the probes of one process: read here which part of observe knows which other."""

from __future__ import annotations

from collections.abc import Callable

from torchwhy.observe.guest import Guests
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.optimizers.gradient_groups import gradient_groups
from torchwhy.observe.optimizers.idle_optimizers import IdleOptimizerWatch
from torchwhy.observe.optimizers.stale_gradients import StaleGradientWatch
from torchwhy.observe.optimizers.stale_manual_gradients import StaleManualGradientWatch
from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizers
from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.observe.probes.call_order import CallOrder
from torchwhy.observe.probes.forwards.modes import ModeCounter
from torchwhy.observe.probes.loaders.loader_log import LoaderLog
from torchwhy.observe.probes.loaders.position_writer import PositionWriter
from torchwhy.observe.probes.memory.holdings import FIRST_BATCH, HoldingsProbe
from torchwhy.observe.probes.metrics.trained_losses import TrainedLosses
from torchwhy.observe.probes.saved_files import SavedFiles
from torchwhy.observe.probes.state_dicts import StateDicts
from torchwhy.observe.probes.states.kept_probes import KeptState
from torchwhy.observe.program.names import Names
from torchwhy.observe.program.program_files import ProgramFiles
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.settings import Settings
from torchwhy.observe.step_handler import CurrentHandler
from torchwhy.observe.steps.budget import Budget
from torchwhy.observe.steps.cruise import Cruise
from torchwhy.observe.steps.loss_scale import LossScale
from torchwhy.observe.steps.sentinel import Sentinel
from torchwhy.observe.steps.step_events import StepEvents
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.record.step_log import StepLog


class Parts:
    """Everything that watches training; each part gets the parts it uses, so they are built in this order."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        step_log: StepLog,
        *,
        step_ended: Callable[[], None],
    ) -> None:
        self.settings, self.recorder, self.step_log = settings, recorder, step_log
        self.hooks = Hooks()
        self.guests = guests = Guests(recorder.write)
        self.state = state = TrainingState()
        self.handlers = handlers = CurrentHandler()
        self.names = Names(visit=lambda: guests.visit)
        self._build_probes()
        self.position = PositionWriter(self.loaders, self.batches, state, recorder.write)
        self.budget = Budget(
            recorder,
            state,
            guests,
            share=settings.budget,
            quiet_steps=lambda: self.cruise.steps,
        )
        self.events = StepEvents(recorder, state, self.batches, self.budget)
        self.stale_gradients = StaleGradientWatch(
            recorder,
            state,
            optimizers=self.optimizers,
            idle=IdleOptimizerWatch(recorder, state, self.scale),
            calls=self.calls,
        )
        self.sentinel = Sentinel(
            state,
            handlers,
            optimizers=self.optimizers,
            scale=self.scale,
            events=self.events,
            calls=self.calls,
            modes=self.modes,
            holdings=self.holdings,
            write_files=self.write_files,
            stale_gradients=self.stale_gradients,
            stale_manual_gradients=StaleManualGradientWatch(recorder, state),
            listeners=self.kept.listeners,
            rerun_step=settings.rerun_step,
            step_ended=step_ended,
        )
        self.cruise = self._cruise()

    def _build_probes(self) -> None:
        recorder, state, protect = self.recorder, self.state, self.guests.protect
        self.scale = LossScale(recorder, state)
        self.holdings = HoldingsProbe(recorder, state, protect)
        self.loaders = LoaderLog(
            recorder.write,
            state,
            protect,
            keeps_datasets=self.settings.rehearsal_steps is not None,
        )
        self.batches = BatchKeeper(
            look_from=FIRST_BATCH,
            when_drawn=protect("holdings probe", self.holdings.drawn),
            log=self.loaders,
        )
        self.write_files = protect("source probe", ProgramFiles(recorder.write).tell)
        self.optimizers = WatchedOptimizers(
            recorder,
            self.names,
            self.handlers,
            when_none_lives=self.batches.recent.clear,  # no step is left that could be repeated
            when_described=protect("rank probe", self._tell_gradient_groups),
        )
        self.calls = CallOrder(
            recorder.write, lambda: (state.step, state.backwards), self.optimizers.position_of
        )
        self.saved_files = SavedFiles(
            self.settings, recorder.write, lambda: state.step, self.optimizers.position_of
        )
        self.kept = self._kept_state()
        self.trained_losses = TrainedLosses()
        self.kept.listeners.add_for_backward(
            protect("evaluation probe", self.trained_losses.before_backward)
        )
        self.state_dicts = StateDicts(
            recorder.write,
            lambda: state.step,
            handed_out=protect("load probe", self.kept.loads.handed_out),
        )
        self.modes = ModeCounter(
            write=recorder.write,
            position=state,
            names=self.names,
            switch_of=self.calls.last_switch,
            failed=lambda problem: self.guests.switch_off("mode probe", problem),
            iteration_lost=self._iteration_lost,
        )

    def _kept_state(self) -> KeptState:
        return KeptState(
            self.recorder.write,
            self.state,
            hooks=self.hooks,
            names=self.names,
            optimizers=self.optimizers,
            ranks_train=lambda: self.saved_files.note_saves(self.hooks, self.guests.protect),
        )

    def _tell_gradient_groups(self) -> None:
        for event in gradient_groups(self.names):
            self.recorder.write(event)

    def _iteration_lost(self) -> None:
        self.handlers.current.iteration_lost()

    def _cruise(self) -> Cruise:
        return Cruise(
            self.state,
            self.handlers,
            recorder=self.recorder,
            step_log=self.step_log,
            events=self.events,
            optimizers=self.optimizers,
            scale=self.scale,
            batches=self.batches,
            modes=self.modes,
            holdings=self.holdings,
            stale_gradients=self.stale_gradients,
            guests=self.guests,
            is_bounded=self.settings.is_bounded,
        )
