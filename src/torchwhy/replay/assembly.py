"""Wires replay together: which part knows which other, and how a run differs from a rerun.

`Equipment` builds what both share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torchwhy.observe.parts import Parts
from torchwhy.observe.session import Session
from torchwhy.observe.step_handler import StepHandler
from torchwhy.observe.steps.check import Check
from torchwhy.observe.torch_features.mode_stack import note_profiler
from torchwhy.replay.crash.caught_exceptions import CaughtExceptions
from torchwhy.replay.crash.late_post_mortem import LatePostMortem
from torchwhy.replay.crash.thread_exceptions import ThreadExceptions
from torchwhy.replay.crash.uncaught_exceptions import UncaughtExceptions
from torchwhy.replay.equipment import Equipment
from torchwhy.replay.experiments.curvature import Curvature
from torchwhy.replay.experiments.sample_independence import SampleIndependence
from torchwhy.replay.experiments.symmetry import Symmetry
from torchwhy.replay.handlers.ending import Ending
from torchwhy.replay.handlers.watching import Watching
from torchwhy.replay.keeping.late_keeper import LateKeeper
from torchwhy.replay.microscope import dispatch_mode
from torchwhy.replay.nonfinite.evaluation_losses import WatchedEvaluations
from torchwhy.replay.nonfinite.last_values import LastValues
from torchwhy.replay.observing.quiet_steps import QuietSteps
from torchwhy.replay.observing.switch import IN_A_RERUN
from torchwhy.replay.samples.sample_values import SampleValuesWriter
from torchwhy.replay.step.loop_repeater import LoopRepeater
from torchwhy.replay.step.rank_agreement import RankAgreement
from torchwhy.replay.step.rewind import Rewind
from torchwhy.replay.step.sample_trial import SampleTrial
from torchwhy.replay.triggers.observations import Observations
from torchwhy.replay.triggers.step_triggers import Triggers

if TYPE_CHECKING:
    from torchwhy.replay.crash.post_mortem import PostMortem
    from torchwhy.replay.keeping.failure_keeper import FailureKeeper
    from torchwhy.replay.step.earlier_run import EarlierRun


class Replay:
    """What replay brings into a watched process."""

    handler: StepHandler
    evaluations: WatchedEvaluations
    runs_eagerly = False

    def begin(self) -> None:
        """Put the microscope on for the first steps."""
        raise NotImplementedError

    def ask(self) -> None:
        """Put the questions of a rehearsal, when the program is over and the hooks are off."""


def assemble(session: Session) -> Replay:
    """Return the parts of replay for this process: of a rerun, a rehearsal, or an ordinary run, as `run.json` says."""
    if session.settings.rerun_step is not None:
        return RerunReplay(session)
    if session.settings.rehearsal_steps is not None:
        from torchwhy.replay.rehearsal_assembly import RehearsalReplay

        return RehearsalReplay(session)
    if session.settings.closely:
        from torchwhy.replay.close_assembly import CloseReplay

        return CloseReplay(session)
    return RunReplay(session)


class RerunReplay(Replay):
    """Comes up to the failing step, under `Rerunning`."""

    def __init__(self, session: Session) -> None:
        from torchwhy.replay.handlers.rerunning import Rerunning
        from torchwhy.replay.step.earlier_run import EarlierRun
        from torchwhy.replay.step.rerun_child import RerunChild

        self._parts = parts = session.parts
        self._equipment = equipment = Equipment(parts, session.spend)
        earlier = EarlierRun(session.settings)
        self.runs_eagerly = earlier.failed_in_compiled_code
        rerun_child = RerunChild(
            earlier,
            equipment.microscope,
            equipment.switch,
            nonfinite_log=equipment.nonfinite_log,
            spoiled_values=equipment.spoiled_values,
            refused_values=equipment.refused_values,
            data_code=equipment.data_code,
            recorder=parts.recorder,
            state=parts.state,
        )
        self.evaluations = WatchedEvaluations(
            parts.recorder,
            parts.state,
            parts.trained_losses,
            parts.modes.forwards,
            when_bad=rerun_child.evaluation_was_bad,
        )
        self.handler = Rerunning(
            rerun_child,
            equipment.microscope,
            equipment.switch,
            step=equipment.step,
            manual_steps=equipment.manual_steps,
            first_observation=equipment.first_observation,
            replay_state=equipment.replay_state,
            spoiled_values=equipment.spoiled_values,
            parameter_watch=equipment.parameter_watch,
            ending=_ending(parts, equipment, self.evaluations),
            keep_state=_state_of_rerun(parts, equipment, earlier),
            state=parts.state,
            protect=parts.guests.protect,
        )

    def begin(self) -> None:
        """Put the microscope on for everything before the first step, and the first step."""
        self._parts.guests.may_run("microscope", dispatch_mode.NEEDS)
        self._equipment.switch.put_on_first(before_learning=IN_A_RERUN)


class RunReplay(Replay):
    """Watches an ordinary run, under `Watching`; while a step is repeated, under `Repeating`."""

    _handler_kind = Watching

    def __init__(self, session: Session) -> None:
        self._parts = parts = session.parts
        self._equipment = equipment = Equipment(parts, session.spend)
        self.evaluations = WatchedEvaluations(
            parts.recorder, parts.state, parts.trained_losses, parts.modes.forwards
        )
        rewind = _rewind(parts, equipment, session.stop_program)
        self._curvature = Curvature(parts.recorder, parts.state, parts.hooks)
        triggers = _triggers(parts, equipment, self._curvature)
        post_mortem = LatePostMortem(lambda: _post_mortem(parts, equipment))
        caught = _caught_exceptions(parts, equipment, post_mortem)
        uncaught = UncaughtExceptions(
            post_mortem,
            caught,
            equipment.refused_values,
            rewind=rewind,
            switch=equipment.switch,
            recorder=parts.recorder,
            tell_position=parts.guests.protect("position probe", parts.position.died),
        )
        self.handler = self._handler_kind(
            parts.handlers,
            equipment.switch,
            step=equipment.step,
            manual_steps=equipment.manual_steps,
            first_observation=equipment.first_observation,
            observations=_observations(parts, equipment),
            triggers=triggers,
            samples=_samples(parts, equipment),
            quiet=QuietSteps(
                equipment.microscope,
                rewind,
                triggers,
                switch=equipment.switch,
                replay_state=equipment.replay_state,
                caught_exceptions=caught,
                recorder=parts.recorder,
            ),
            replay_state=equipment.replay_state,
            rewind=rewind,
            spoiled_values=equipment.spoiled_values,
            parameter_watch=equipment.parameter_watch,
            caught_exceptions=caught,
            uncaught_exceptions=uncaught,
            ending=_ending(parts, equipment, self.evaluations, caught=caught, rewind=rewind),
            recorder=parts.recorder,
            state=parts.state,
            protect=parts.guests.protect,
        )

    def begin(self) -> None:
        """Put the microscope on for the first steps, and watch for hooks of the program."""
        self._parts.guests.may_run("microscope", dispatch_mode.NEEDS)
        self._equipment.switch.put_on_first()
        self._curvature.install()
        parts = self._parts
        self._equipment.microscope.taken.watch(parts.hooks, parts.guests.protect)
        note_profiler(self._parts.hooks.replace, self._equipment.switch.program_profiles)


def _rewind(parts: Parts, equipment: Equipment, stop_program: Callable[..., None]) -> Rewind:
    values = SampleValuesWriter(parts.recorder, keeps_data=parts.settings.keeps_data)
    sample_trial = SampleTrial(
        equipment.nonfinite_log,
        equipment.context,
        equipment.repeater,
        parts.recorder,
        keep_values=parts.guests.protect("sample values", values.write),
    )
    return Rewind(
        equipment.microscope,
        equipment.switch,
        nonfinite_log=equipment.nonfinite_log,
        spoiled_values=equipment.spoiled_values,
        data_code=equipment.data_code,
        snapshot=equipment.snapshot,
        batches=parts.batches,
        repeater=equipment.repeater,
        loop_repeater=LoopRepeater(),
        muted_output=equipment.muted_output,
        sample_trial=sample_trial,
        withheld_update=equipment.withheld_update,
        ranks=RankAgreement(),
        keeping=LateKeeper(lambda: _failure_keeper(parts, equipment), parts.guests.protect),
        recorder=parts.recorder,
        tell_position=parts.guests.protect("position probe", parts.position.failed),
        state=parts.state,
        on_failure=parts.settings.on_failure,
        stop_program=stop_program,
    )


def _failure_keeper(parts: Parts, equipment: Equipment) -> FailureKeeper:
    from torchwhy.replay.keeping.failure_keeper import FailureKeeper

    return FailureKeeper(parts.settings, parts.optimizers, equipment.snapshot, parts.recorder)


def _state_of_rerun(
    parts: Parts, equipment: Equipment, earlier: EarlierRun
) -> Callable[[Check], None]:
    """Return what keeps the state before the failing step, if the run noticed the bad update after it was made."""
    keeper = LateKeeper(lambda: _failure_keeper(parts, equipment), parts.guests.protect)

    def keep(check: Check) -> None:
        if earlier.wants_state_of(check.step) and check.watched is not None:
            batches = parts.batches.since(check.watched.batches_at_last_step)
            keeper.note(check, batches)
            equipment.snapshot.restore_buffers()
            keeper.write(check)

    return keep


def _triggers(parts: Parts, equipment: Equipment, curvature: Curvature) -> Triggers:
    return Triggers(
        equipment.microscope,
        equipment.switch,
        graph=equipment.graph,
        curvature=curvature,
        symmetry=Symmetry(parts.recorder, parts.state),
        optimizers=parts.optimizers,
        state=parts.state,
        protect=parts.guests.protect,
    )


def _observations(parts: Parts, equipment: Equipment) -> Observations:
    return Observations(
        equipment.microscope,
        equipment.switch,
        observation=equipment.observation,
        optimizers=parts.optimizers,
        names=parts.names,
        memory=equipment.parameter_memory,
        graph=equipment.graph,
        activity=equipment.activity,
        cruise=parts.cruise,
        state=parts.state,
    )


def _samples(parts: Parts, equipment: Equipment) -> SampleIndependence:
    samples = SampleIndependence(
        equipment.microscope,
        equipment.modules,
        equipment.switch,
        names=parts.names,
        batches=parts.batches,
        modes=parts.modes,
        recorder=parts.recorder,
        state=parts.state,
    )
    equipment.model_listeners.append(parts.guests.protect("samples experiment", samples.keep))
    return samples


def _post_mortem(parts: Parts, equipment: Equipment) -> PostMortem:
    from torchwhy.replay.crash.autopsy.examine import Autopsy
    from torchwhy.replay.crash.hidden.hidden_causes import HiddenCauses
    from torchwhy.replay.crash.post_mortem import PostMortem
    from torchwhy.replay.crash.trials.reexecute import Reexecution

    reexecution = Reexecution(
        equipment.microscope,
        equipment.modules,
        equipment.switch,
        nonfinite_log=equipment.nonfinite_log,
        batches=parts.batches,
        state=parts.state,
    )
    autopsy = Autopsy(
        equipment.microscope,
        equipment.modules,
        names=parts.names,
        batches=parts.batches,
        context=equipment.context,
        reexecution=reexecution,
        state=parts.state,
    )
    hidden_causes = HiddenCauses(equipment.microscope, parts.names, parts.state)
    return PostMortem(autopsy, hidden_causes, parts.batches, parts.guests.protect)


def _caught_exceptions(
    parts: Parts, equipment: Equipment, post_mortem: LatePostMortem
) -> CaughtExceptions:
    protect = parts.guests.protect
    threads = ThreadExceptions(post_mortem, parts.recorder, parts.state, parts.hooks, protect)
    caught = CaughtExceptions(
        post_mortem,
        threads,
        equipment.microscope,
        batches=parts.batches,
        recorder=parts.recorder,
        state=parts.state,
        guests=parts.guests,
    )
    equipment.microscope.when_raised = caught.operation_raised
    return caught


def _ending(
    parts: Parts,
    equipment: Equipment,
    evaluations: WatchedEvaluations,
    *,
    caught: CaughtExceptions | None = None,
    rewind: Rewind | None = None,
) -> Ending:
    last_values = LastValues(
        equipment.microscope,
        equipment.nonfinite_log,
        equipment.spoiled_values,
        evaluations=evaluations,
        optimizers=parts.optimizers,
        compiled_steps=parts.sentinel.compiled_steps,
        recorder=parts.recorder,
        state=parts.state,
        directory=parts.settings.directory,
    )
    return Ending(
        equipment.microscope,
        last_values,
        parameter_watch=equipment.parameter_watch,
        protect=parts.guests.protect,
        caught_exceptions=caught,
        rewind=rewind,
    )
