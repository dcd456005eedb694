"""What all parts of replay share: the microscope, the book of births, the names and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torchwhy.observe.program.frames import span_of
from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.sentinel import Check
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.torch_internals import force_eager
from torchwhy.record.events import GradientsClipped, MicroscopeLeft
from torchwhy.replay.graph.earlier_steps import with_links
from torchwhy.replay.graph.forward_graph import GraphWriter
from torchwhy.replay.graph.unit_activity import ActivityWriter
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.microscope.module_stack import ModuleStack
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.nonfinite.evaluation_losses import WatchedEvaluations
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.nonfinite.program_context import LiveContext
from torchwhy.replay.parameters.parameter_memory import ParameterMemory
from torchwhy.replay.parameters.parameter_watch import ParameterWatch
from torchwhy.replay.step.snapshot import Snapshot

if TYPE_CHECKING:
    from torchwhy.observe.session import Session

PROLOGUE_SECONDS = (
    10.0  # of our own time before the first step is over; then the microscope steps back
)
ENOUGH_WITHOUT_GRAPH = (
    2000  # operations: an evaluation of some batches, or the first moves of a game
)
NORMS = {"_foreach_norm", "linalg_vector_norm", "norm"}


class Stage:
    """Owns the equipment and turns it on and off."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.context = LiveContext(session)
        self.nonfinite_log = NonfiniteLog(session.write, self.context)
        self.modules = ModuleStack(session.names, session.postpone, session.guests.protect)
        self.microscope = Microscope(self.nonfinite_log, self.modules, self._microscope_failed)
        self.context.microscope = self.microscope
        self.snapshot = Snapshot(session)
        self.graph = GraphWriter(self)
        self.activity = ActivityWriter(self)
        self.parameter_memory = ParameterMemory(self)
        self.parameter_watch = ParameterWatch(session)
        # In the place of observe's own, before it is wired: the same curves, and the bad readings besides.
        self.evaluations = session.evaluations = WatchedEvaluations(session)
        self.observation = (
            0  # of the look in hand: 0 is the first, and any that has no phase of its own
        )
        self.compiles = False
        self.earlier: list[Operation] = []  # forward operations of the steps of this look so far
        self._last_clip = -1
        self._told_seconds = 0.0  # of the microscope's, so far

    def begin(self) -> None:
        """Put the microscope on: everything before the first step, and the first step, is seen."""
        microscope, sentinel = self.microscope, self.session.sentinel
        microscope.limit_seconds = PROLOGUE_SECONDS
        microscope.over_limit = lambda: self.step_back("the time for looking was used up")
        microscope.counted_elsewhere = lambda: self.session.guests.seconds
        microscope.updating = lambda: sentinel.in_update
        microscope.open_check = lambda: sentinel.open_check
        microscope.on_clip = self._clipped
        self.modules.on_output = unseen(self._module_gave)
        self.modules.on_call = self._model_is_called
        self.modules.on_outermost = microscope.forward_begins
        protect = self.session.guests.protect
        self.modules.on_model = protect("activity probe", self.activity.model_gave)
        microscope.on_forward = protect("activity probe", self.activity.saw)
        self._step_aside_for_fetching()
        microscope.enter()

    def begin_observation(self, number: int, own: list[torch.Tensor], *, seconds: float) -> None:
        """Put the microscope on for a later phase, in which `own` are trained; what ran since is not known."""
        microscope, step = self.microscope, self.session.sentinel.step
        self.observation = number
        self.parameter_memory.begin_observation(own)
        microscope.memory_writers.begin_anew()
        microscope.used_parameters.clear()
        microscope.forwards.clear()
        microscope.without_graph, microscope.missed_update = 0, False
        microscope.limit_seconds = microscope.seconds + seconds
        self.modules.begin_anew(number)
        self.graph.begin_anew()
        self.activity.begin_anew()
        self._step_aside_for_fetching()
        self.begin_step(step)
        microscope.enter()

    def _step_aside_for_fetching(self) -> None:
        microscope, batches = self.microscope, self.session.batches
        microscope.logs_briefly = not self.session.is_bounded
        if microscope.logs_briefly:
            protect = self.session.guests.protect
            batches.on_fetch = protect("microscope", microscope.pause)
            batches.on_fetched = protect("microscope", microscope.resume)

    def _model_is_called(self) -> None:
        """Doze through a long time without training, as in playing games before the first update."""
        if torch.is_grad_enabled():
            self.microscope.resume()
        elif self.microscope.logs_briefly and self.microscope.without_graph > ENOUGH_WITHOUT_GRAPH:
            self.microscope.pause()

    def look_without_limit(self, step: int | None = None) -> None:
        """Put the microscope on for as long as it takes; compiled code runs eagerly meanwhile."""
        if self.compiles:
            force_eager(on=True)
        self.microscope.limit_seconds = float("inf")
        self.microscope.logs_briefly = False
        self.session.batches.on_fetch = self.session.batches.on_fetched = None
        if step is not None:
            self.begin_step(step)
        self.microscope.enter()

    def step_back(self, reason: str) -> None:
        """Take the microscope off and say why."""
        if not self.microscope.is_on:
            return
        self.microscope.leave()
        self.earlier = []
        self.session.batches.on_fetch = self.session.batches.on_fetched = None
        self.modules.tells = False
        self.observation = self.modules.observation = 0
        self.nonfinite_log.drop_reaches()
        self.session.own_seconds += self.microscope.seconds - self._told_seconds
        self._told_seconds = self.microscope.seconds
        if self.session.sentinel.step or self.session.sentinel.optimizers.any_made:
            self.session.write(
                MicroscopeLeft(
                    step=self.session.sentinel.step,
                    reason=reason,
                    operations=self.microscope.seen,
                    seconds=round(self.microscope.seconds, 4),
                    compiled=self.compiles,
                )
            )

    def begin_step(self, step: int) -> None:
        """Tell microscope and module stack which step they look at."""
        self.microscope.begin_step(step)
        self.modules.step = step

    def keep_forwards(self) -> None:
        """Keep how the step that is over was wired: an optimizer that still waits may have been used in it."""
        self.earlier = with_links(self.earlier, self.microscope.forward_operations())

    def note_bad_losses(self, losses: list[torch.Tensor]) -> None:
        """Note which births bad losses descend from."""
        for loss in losses if self.microscope.is_on else []:
            if not gradients.is_finite(loss):
                self.nonfinite_log.reached(self.microscope.source_of(loss.detach()), "loss")

    def note_bad_gradients(self, check: Check) -> None:
        """Note which births bad gradients descend from."""
        if not self.microscope.is_on or check.watched is None:
            return
        for name, gradient in check.watched.named_gradients():
            if gradient is not None and not gradients.is_finite(gradient):
                if self._came_unseen(check, gradient):
                    continue
                self.nonfinite_log.reached(
                    self.microscope.source_of(gradient), f"gradient of {name}"
                )

    def _came_unseen(self, check: Check, gradient: torch.Tensor) -> bool:
        """Tell whether a backward pass in another thread gave a gradient: no operation of it was seen."""
        memory_writers, operations = self.microscope.memory_writers, self.microscope.operations()
        return (
            bool(check.losses)
            and memory_writers.entry(gradient) is None
            and not any(operation.phase == "backward" for operation in operations)
        )

    def note_bad_parameters(self, check: Check) -> None:
        """Note which births bad weights descend from."""
        if not self.microscope.is_on or check.watched is None or self.microscope.missed_update:
            return
        for name, parameter in zip(check.watched.names(), check.watched.parameters(), strict=True):
            if not gradients.is_finite(parameter):
                self.nonfinite_log.reached(
                    self.microscope.source_of(parameter.detach()), f"parameter {name}"
                )

    @staticmethod
    def bad_parameters(check: Check) -> list[str]:
        """Return the names of an optimizer's weights that are not finite."""
        if check.watched is None:
            return []
        pairs = zip(check.watched.names(), check.watched.parameters(), strict=True)
        return [name for name, parameter in pairs if not gradients.is_finite(parameter)]

    def _module_gave(self, path: str, output: Any) -> None:
        for tensor in output if isinstance(output, (list, tuple)) else [output]:
            if isinstance(tensor, torch.Tensor) and not gradients.is_finite(tensor):
                self.nonfinite_log.noticed(
                    self.microscope.memory_writers.births_of(tensor), f"output of {path}"
                )

    def _clipped(self, operation: Operation) -> None:
        """Note that gradients are being clipped; a norm that overflows makes all of them 0, which no check sees."""
        if operation.births and operation.info.base in NORMS:
            self.nonfinite_log.tell_now(operation.births, "norm of the gradients")
        if self._last_clip == operation.step:
            return
        self._last_clip = operation.step
        site = operation.place()
        scaled = self.session.sentinel.gradients_scaled
        self.session.write(
            GradientsClipped(
                step=operation.step, scaled=scaled, location=span_of(site) if site else None
            )
        )

    def _microscope_failed(self, problem: BaseException) -> None:
        self.session.guests.switch_off("microscope", problem)
        self.step_back("it failed")
