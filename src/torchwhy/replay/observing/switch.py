"""Puts the microscope on and takes it off: for the first steps, a late optimizer, a failing step."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizers
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.torch_internals import force_eager
from torchwhy.record.events import MicroscopeLeft
from torchwhy.replay.graph.earlier_steps import EarlierSteps
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.microscope.module_stack import ModuleStack
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.observing.current_observation import CurrentObservation
from torchwhy.replay.observing.fetch_pause import FetchPause

FIRST_SECONDS = 10.0  # of our own time, after which the first observation ends
ENOUGH_WITHOUT_GRAPH = (
    2000  # operations: an evaluation of some batches, or the first moves of a game
)


class MicroscopeSwitch:
    """Knows why the microscope is on, and what has to be reset when that changes."""

    def __init__(
        self,
        microscope: Microscope,
        modules: ModuleStack,
        *,
        observation: CurrentObservation,
        fetch_pause: FetchPause,
        earlier_steps: EarlierSteps,
        nonfinite_log: NonfiniteLog,
        recorder: Recorder,
        state: TrainingState,
        optimizers: WatchedOptimizers,
        spend: Callable[[float], None],
    ) -> None:
        self._microscope = microscope
        self._modules = modules
        self._observation = observation
        self._fetch_pause = fetch_pause
        self._earlier_steps = earlier_steps
        self._nonfinite_log = nonfinite_log
        self._recorder = recorder
        self._state = state
        self._optimizers = optimizers
        self._spend = spend
        self._spent = 0.0  # seconds of the microscope that were counted already
        self.compiles = False  # the program uses torch.compile

    def put_on_first(self) -> None:
        """Put the microscope on for everything before the first step, and the first step."""
        self._microscope.limit_seconds = FIRST_SECONDS
        self._fetch_pause.begin()
        self._microscope.enter()

    def put_on_for_late_optimizer(self, number: int, *, seconds: float) -> None:
        """Put the microscope on for observation `number`; nothing that ran since the last one is known."""
        microscope = self._microscope
        self._observation.number = number
        microscope.begin_anew()
        microscope.limit_seconds = microscope.seconds + seconds
        self._modules.begin_anew()
        self._fetch_pause.begin()
        self.begin_step(self._state.step)
        microscope.enter()

    def put_on_without_limit(self, step: int | None = None) -> None:
        """Put the microscope on for as long as it takes; compiled code runs eagerly meanwhile."""
        if self.compiles:
            force_eager(on=True)
        self._microscope.limit_seconds = math.inf
        self._microscope.logs_briefly = False
        self._fetch_pause.end()
        if step is not None:
            self.begin_step(step)
        self._microscope.enter()

    def end_eager(self) -> None:
        """Let compiled code run compiled again."""
        if self.compiles:
            force_eager(on=False)

    def take_off(self, reason: str, *, cut_short: bool = False) -> None:
        """Take the microscope off and record why; `cut_short` if it has not seen the step it was put on for."""
        microscope = self._microscope
        if not microscope.is_on:
            return
        microscope.leave()
        self._earlier_steps.clear()
        self._fetch_pause.end()
        self._modules.tells = False
        self._observation.number = 0
        self._nonfinite_log.drop_reaches()
        self._spend(microscope.seconds - self._spent)
        self._spent = microscope.seconds
        if self._state.step or self._optimizers.any_made:
            self._recorder.write(
                MicroscopeLeft(
                    step=self._state.step,
                    reason=reason,
                    operations=microscope.seen,
                    seconds=round(microscope.seconds, 4),
                    compiled=self.compiles,
                    cut_short=cut_short,
                )
            )

    def begin_step(self, step: int) -> None:
        """Tell the microscope and the module stack which step they look at."""
        self._microscope.begin_step(step)
        self._modules.step = step

    def model_is_called(self) -> None:
        """Pause during long stretches without training, such as playing games before the first update."""
        microscope = self._microscope
        if torch.is_grad_enabled():
            microscope.resume()
        elif microscope.logs_briefly and microscope.without_graph > ENOUGH_WITHOUT_GRAPH:
            microscope.pause()
