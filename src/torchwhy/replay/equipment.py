"""Builds what runs and reruns share: the microscope, its logs and writers, and what a repeated step needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torchwhy.observe.parts import Parts
from torchwhy.replay.graph.dropped_results import DroppedResults
from torchwhy.replay.graph.earlier_steps import EarlierSteps
from torchwhy.replay.graph.forward_graph import GraphWriter
from torchwhy.replay.graph.graph_cuts import GraphCuts
from torchwhy.replay.graph.unit_activity import ACTIVATIONS, ActivityWriter
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.microscope.memory_writers import MemoryWriters
from torchwhy.replay.microscope.module_stack import ModuleStack
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.nonfinite.data_code import DataCode
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.nonfinite.program_context import LiveContext
from torchwhy.replay.nonfinite.refused_values import RefusedValues
from torchwhy.replay.nonfinite.spoiled_values import SpoiledValues
from torchwhy.replay.observing.current_observation import CurrentObservation
from torchwhy.replay.observing.fetch_pause import FetchPause
from torchwhy.replay.observing.first_observation import FirstObservation
from torchwhy.replay.observing.manual_steps import ManualSteps
from torchwhy.replay.observing.observed_step import ObservedStep
from torchwhy.replay.observing.switch import MicroscopeSwitch
from torchwhy.replay.parameters.census import Census
from torchwhy.replay.parameters.late_parameters import LateParameterWatch
from torchwhy.replay.parameters.manual_updates import ManualUpdates
from torchwhy.replay.parameters.parameter_memory import ParameterMemory
from torchwhy.replay.parameters.parameter_watch import ParameterWatch
from torchwhy.replay.samples.collated_rows import CollatedRows
from torchwhy.replay.samples.given_batches import GivenBatches
from torchwhy.replay.step.batch_repeater import BatchRepeater
from torchwhy.replay.step.muted_output import MutedOutput
from torchwhy.replay.step.replay_state import ReplayState
from torchwhy.replay.step.snapshot import Snapshot
from torchwhy.replay.step.withheld_update import WithheldUpdate


class Equipment:
    """Used by `assembly` alone: every other class gets the single parts it uses."""

    def __init__(self, parts: Parts, spend: Callable[[float], None]) -> None:
        self._parts = parts
        self._protect: Callable[..., Any] = parts.guests.protect
        self.observation = CurrentObservation()
        self.earlier_steps = EarlierSteps()
        self.muted_output = MutedOutput()
        self.repeater = BatchRepeater(self.muted_output)
        self.snapshot = Snapshot(
            parts.names, parts.batches, copies_all=parts.settings.on_failure == "skip"
        )
        self.withheld_update = WithheldUpdate()
        self.replay_state = ReplayState(self.snapshot, parts.batches, parts.optimizers)
        self._build_microscope()
        self.switch = self._switch(spend)
        self._build_nonfinite()
        self._build_parameters()
        self.step = self._observed_step()
        updates = ManualUpdates(self.microscope, parts.recorder, parts.state)
        self.manual_steps = ManualSteps(self.step, updates, parts.optimizers, self._protect)
        self.first_observation = FirstObservation(
            self.microscope, self.switch, parts.optimizers, parts.state
        )

    def _build_microscope(self) -> None:
        parts, protect = self._parts, self._protect
        writers = MemoryWriters()
        self.given_batches = GivenBatches(parts.batches)
        self.context = LiveContext(
            parts.names,
            parts.batches,
            self.repeater,
            writers,
            operations_after=self._operations_after,
        )
        self.nonfinite_log = NonfiniteLog(parts.recorder.write, self.context)
        self.activity = ActivityWriter(parts.recorder, parts.state, parts.names, self.observation)
        self.model_listeners = [protect("activity probe", self.activity.model_gave)]
        self.modules = ModuleStack(
            parts.names,
            parts.recorder,
            protect,
            observation=self.observation,
            on_call=self._model_is_called,
            on_outermost=self._forward_begins,
            on_output=self._model_gave,
            on_model=self.model_listeners,
        )
        self.microscope = Microscope(
            self.nonfinite_log,
            writers,
            self.modules,
            state=parts.state,
            guests=parts.guests,
            failed=self._microscope_failed,
            over_limit=self._limit_is_reached,
            on_forward=_of_activations(protect("activity probe", self.activity.saw)),
            on_clip=self._gradients_are_clipped,
            batch_at=self.given_batches.at,
        )
        self.graph = GraphWriter(
            writers,
            self.activity,
            observation=self.observation,
            names=parts.names,
            recorder=parts.recorder,
            state=parts.state,
        )

    # The microscope and the module stack come first, so their events reach later parts through these.

    def _operations_after(self, operation: Operation) -> list[Operation]:
        return self.microscope.operations_after(operation)

    def _model_is_called(self) -> None:
        self.switch.model_is_called()

    def _forward_begins(self, module: nn.Module) -> None:
        self.switch.forward_begins(module)
        self.microscope.forward_begins(module)

    def _model_gave(self, path: str, output: Any) -> None:
        self.spoiled_values.note_output(path, output)

    def _gradients_are_clipped(self, operation: Operation) -> None:
        self.spoiled_values.note_clip(operation)

    def _limit_is_reached(self) -> None:
        self.switch.limit_reached()

    def _microscope_failed(self, problem: BaseException) -> None:
        self._parts.guests.switch_off("microscope", problem)
        self.switch.has_failed = True
        self.switch.take_off("it failed", cut_short=True)

    def _switch(self, spend: Callable[[float], None]) -> MicroscopeSwitch:
        parts = self._parts
        fetch_pause = FetchPause(
            self.microscope,
            parts.batches,
            self._protect,
            is_allowed=not parts.settings.is_bounded,
        )
        return MicroscopeSwitch(
            self.microscope,
            self.modules,
            observation=self.observation,
            fetch_pause=fetch_pause,
            earlier_steps=self.earlier_steps,
            nonfinite_log=self.nonfinite_log,
            recorder=parts.recorder,
            state=parts.state,
            optimizers=parts.optimizers,
            spend=spend,
        )

    def _build_nonfinite(self) -> None:
        parts = self._parts
        self.spoiled_values = SpoiledValues(
            self.microscope, self.nonfinite_log, parts.recorder, parts.scale
        )
        self.refused_values = RefusedValues(
            self.microscope, self.nonfinite_log, parts.recorder, parts.state
        )
        program_ends = parts.settings.on_failure == "stop"
        self.data_code = DataCode(
            self.microscope,
            self.nonfinite_log,
            self.given_batches,
            collated_rows=CollatedRows(
                self.nonfinite_log, self.given_batches, program_ends=program_ends
            ),
            recorder=parts.recorder,
            state=parts.state,
            program_ends=program_ends,
        )

    def _build_parameters(self) -> None:
        parts = self._parts
        self.parameter_memory = ParameterMemory(parts.names, self.observation)
        late = LateParameterWatch(parts.recorder, parts.state, parts.names, parts.optimizers)
        self.parameter_watch = ParameterWatch(parts.recorder, parts.state, parts.optimizers, late)
        self.census = Census(
            self.microscope,
            self.modules,
            observation=self.observation,
            names=parts.names,
            optimizers=parts.optimizers,
            memory=self.parameter_memory,
            watch=self.parameter_watch,
            recorder=parts.recorder,
            state=parts.state,
        )

    def _observed_step(self) -> ObservedStep:
        parts = self._parts
        cuts = GraphCuts(
            self.microscope,
            self.graph,
            self.earlier_steps,
            observation=self.observation,
            memory=self.parameter_memory,
            recorder=parts.recorder,
        )
        dropped = DroppedResults(
            self.microscope, self.graph, observation=self.observation, recorder=parts.recorder
        )
        return ObservedStep(
            self.microscope,
            self.switch,
            graph=self.graph,
            cuts=cuts,
            dropped=dropped,
            census=self.census,
            earlier_steps=self.earlier_steps,
            memory=self.parameter_memory,
            nonfinite_log=self.nonfinite_log,
            spoiled_values=self.spoiled_values,
            state=parts.state,
            protect=self._protect,
        )


def _of_activations(
    measure: Callable[[Operation, torch.Tensor], object],
) -> Callable[[Operation, torch.Tensor], None]:
    """Return `measure` for activations alone: guarding a call takes longer than this question."""

    def saw(operation: Operation, output: torch.Tensor) -> None:
        if operation.info.base in ACTIVATIONS:
            measure(operation, output)

    return saw
