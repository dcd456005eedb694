"""Puts the microscope on and takes it off: for the first steps, a late optimizer, a failing step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizers
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.compiler import EagerStance
from torchwhy.record.events import MicroscopeLeft
from torchwhy.replay.graph.earlier_steps import EarlierSteps
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.microscope.module_stack import ModuleStack
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.observing.collector_rest import CollectorRest
from torchwhy.replay.observing.current_observation import CurrentObservation
from torchwhy.replay.observing.fetch_pause import FetchPause

# Work of the microscope, in operations, each of which takes about 0.1 ms.
BEFORE_LEARNING = 2000  # then it sleeps until something is about to be learnt
IN_A_RERUN = 200_000  # the same, where it looks for the origin of a failure
FOR_AN_OPTIMIZER = (
    500  # after an optimizer was made: the parameters may be plain tensors that no model holds
)
LEARNING = (
    20_000  # from the first forward pass of a model that can learn, up to the end of the first step
)
# A policy that plays before it learns: calls of models without a backward pass, and work, after which we give up.
MOST_CALLS, WORK_OF_CALLS = 64, 4000
# Steps after an observation until a backward pass through its graph, of which it logged every write, is unlikely.
KEPT_STEPS = 4
ENOUGH_WITHOUT_GRAPH = (
    500  # operations: an evaluation of a batch or two, or the first moves of a game
)


class MicroscopeSwitch:
    """Knows why the microscope is on, and what has to be reset when that changes."""

    has_failed = False  # by a fault of ours

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
        self.compiles = False  # the program has entered torch's compiler
        self._eager = EagerStance()
        self.gave_up = False  # the first step was too long to be observed
        self.ran_out = False  # a later step took more work than an observation may
        self._is_first = False  # the microscope is on for the first observation
        self._is_learning = False  # and a model that can learn was called
        self._calls = 0  # of such models since the last backward pass
        self._began = 0  # work when learning began
        self._without_graph = 0  # operations without graph before the last call that recorded one
        self._collector = CollectorRest()
        self._left: int | None = None  # the step in which it was taken off, until all is released
        self._holds_dead = False  # and memory that is gone by now may be known

    def put_on_first(self, *, before_learning: int = BEFORE_LEARNING) -> None:
        """Put the microscope on for the first step, and for some work before it."""
        self._is_first, self._microscope.limit = True, before_learning
        self._collector.begin()
        self._fetch_pause.begin()
        self._microscope.enter()

    def optimizer_made(self) -> None:
        """Look again for a while: the first step may follow at once."""
        self._microscope.taken.training_begins()
        if self._is_first and not self._is_learning:
            self._wake(FOR_AN_OPTIMIZER)

    def forward_begins(self, module: nn.Module) -> None:
        """Look at the first calls of a model that can learn, unless there are many of them before it learns."""
        if not self._is_first or not torch.is_grad_enabled():
            return
        if not any(parameter.requires_grad for parameter in module.parameters()):
            return
        self._learning_begins()
        self._calls += 1
        microscope = self._microscope
        if self._calls > MOST_CALLS and microscope.work - self._began > WORK_OF_CALLS:
            self.gave_up = True
            self.take_off(f"no backward pass came in {self._calls} forward passes", cut_short=True)

    def backward_begins(self) -> None:
        """Look at the first backward pass."""
        self._microscope.taken.training_begins()
        if self._is_first:
            self._learning_begins()
            self._calls = 0

    def _learning_begins(self) -> None:
        if not self._is_learning:
            self._is_learning, self._began = True, self._microscope.work
            self._wake(LEARNING)

    def _wake(self, work: int) -> None:
        self._microscope.limit = max(self._microscope.limit, self._microscope.work + work)
        self._microscope.wake()

    def limit_reached(self) -> None:
        """Sleep before anything is learnt; else end the observation, since a part of a step explains little."""
        if self._is_first and not self._is_learning:
            self._microscope.sleep()
        else:
            self.gave_up = self.gave_up or self._is_first
            self.ran_out = self.ran_out or not self._is_first
            self.take_off("the work for one observation was used up", cut_short=True)

    def put_on_for_late_optimizer(self, number: int, *, work: int) -> None:
        """Put the microscope on for observation `number`; nothing that ran since the last one is known."""
        if self.has_failed:
            return  # What it can still see would be taken for all.
        microscope = self._microscope
        self._observation.number = number
        microscope.begin_anew()
        self._without_graph = 0
        microscope.limit = microscope.work + work
        self._modules.begin_anew()
        self._collector.begin()
        self._fetch_pause.begin()
        self.begin_step(self._state.step)
        microscope.enter()

    def put_on_without_limit(self, step: int | None = None, *, work: float = math.inf) -> None:
        """Put the microscope on for as long as it takes, or for some work; compiled code runs eagerly meanwhile."""
        if self.compiles:
            self._eager.begin()
        self._is_first = False
        if work < math.inf:
            self._collector.begin()
        self._microscope.limit = self._microscope.work + work
        self._microscope.wake()
        self._microscope.logs_briefly = False
        self._fetch_pause.end()
        if step is not None:
            self.begin_step(step)
        self._microscope.enter()

    @contextmanager
    def eagerly(self) -> Iterator[None]:
        """Let compiled code run eagerly inside, because nothing may be compiled for our own calls."""
        stance = EagerStance()
        if self.compiles:
            stance.begin()
        try:
            yield
        finally:
            stance.end()

    def end_eager(self) -> None:
        """Let compiled code run compiled again."""
        self._eager.end()

    def take_off(self, reason: str, *, cut_short: bool = False) -> None:
        """Take the microscope off and record why; `cut_short` if it has not seen the step it was put on for."""
        microscope = self._microscope
        if not microscope.is_on:
            return
        microscope.leave()
        self._left, self._holds_dead = self._state.step, True
        self._is_first = False
        self._collector.end()
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

    @property
    def has_released(self) -> bool:
        """Tell whether nothing of an earlier observation is kept."""
        return self._left is None

    def release(self) -> None:
        """Release, some steps after an observation, the operations that were kept to explain what follows it.

        Hundreds of thousands of small objects between those of the program cost it up to 3 % of every later step.
        """
        if self._left is None or self._microscope.is_on or self._state.step <= self._left:
            return
        if self._holds_dead:
            self._holds_dead = False
            self._microscope.memory_writers.forget_dead()
        if self._state.step > self._left + KEPT_STEPS:
            self._left = None
            self._microscope.writes.forget()

    def program_profiles(self) -> None:
        """Take the microscope off: a profiler records every operation under a dispatch mode twice."""
        self.take_off("the program profiles itself", cut_short=True)

    def begin_step(self, step: int) -> None:
        """Tell the microscope and the module stack which step they look at."""
        self._microscope.begin_step(step)
        self._modules.step = step

    def model_is_called(self) -> None:
        """Pause during long stretches without training, such as playing games before the first update.

        A target network called between a forward pass and its loss begins no such stretch.
        """
        microscope = self._microscope
        if torch.is_grad_enabled():
            microscope.resume()
            self._without_graph = microscope.without_graph
        elif (
            microscope.logs_briefly
            and microscope.without_graph - self._without_graph > ENOUGH_WITHOUT_GRAPH
        ):
            microscope.pause()
