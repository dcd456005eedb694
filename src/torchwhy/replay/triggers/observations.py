"""Decides which late optimizers get an observation of their own.

A program that pretrains and then fine-tunes, or trains a teacher and then a student, is wired anew with each optimizer
it makes. The microscope is put on when such an optimizer is made and taken off after its first step; if that step came
unseen, the second one is observed. Optimizers made at one place for models of one kind, as in every fold, epoch or
inner loop, are observed once.
"""

from __future__ import annotations

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer, WatchedOptimizers
from torchwhy.observe.program.frames import user_sites
from torchwhy.observe.program.names import Names, parameters_of
from torchwhy.observe.steps.check import Check
from torchwhy.observe.steps.cruise import Cruise
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.mode_stack import active_modes, is_profiling
from torchwhy.replay.graph.forward_graph import GraphWriter
from torchwhy.replay.graph.unit_activity import ActivityWriter
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.observing.current_observation import CurrentObservation
from torchwhy.replay.observing.switch import MicroscopeSwitch
from torchwhy.replay.parameters.parameter_memory import ParameterMemory

MOST_OBSERVATIONS = 3  # of one run, besides the first
MOST_WORK = 20_000  # of the microscope for one observation, in operations
# Stop observing if the new optimizer has not stepped after this many backward passes and this work of the microscope.
MOST_BACKWARDS, WAITING_WORK = 16, 2500
MOST_ALIKE = 3  # optimizers of one place whose models are compared
DEPTH = 4  # calls between the constructor of an optimizer and the top of the program that tell places apart

Place = tuple[object, ...]
Structure = frozenset[object]


class Observations:
    """Knows which optimizers were observed, and begins and ends each observation of a late one."""

    def __init__(
        self,
        microscope: Microscope,
        switch: MicroscopeSwitch,
        *,
        observation: CurrentObservation,
        optimizers: WatchedOptimizers,
        names: Names,
        memory: ParameterMemory,
        graph: GraphWriter,
        activity: ActivityWriter,
        cruise: Cruise,
        state: TrainingState,
    ) -> None:
        self._microscope = microscope
        self._switch = switch
        self._observation = observation
        self._optimizers = optimizers
        self._names = names
        self._memory = memory
        self._graph = graph
        self._activity = activity
        self._cruise = cruise
        self._state = state
        self._count = 0
        self._made: dict[Place, int] = {}
        self._places: dict[int, Place] = {}
        self._observed: dict[Place, set[Structure]] = {}
        self._saw: set[int] = set()  # optimizers whose structure is among them
        self._awaited: list[WatchedOptimizer] = []
        self.optimizers: set[int] = set()  # of the current observation, or the last one
        self._began = (0, 0, 0)  # steps, backward passes and work when the observation began

    @property
    def is_observing(self) -> bool:
        """Tell whether the microscope is on for a late optimizer."""
        return bool(self._observation.number)

    def optimizer_made(self, *, may_begin: bool) -> None:
        """Observe what follows if this is the first optimizer of its place, and training is under way.

        Its parameters are not known yet; an optimizer that is made again is compared at its first step.
        """
        state = self._state
        if (self._count >= MOST_OBSERVATIONS and not self.is_observing) or state.is_elsewhere():
            return
        place = tuple(
            (site.code, site.instruction) for site in user_sites(frame_at(2), limit=DEPTH)
        )
        self._made[place] = self._made.get(place, 0) + 1
        made = self._optimizers.all()
        if self._made[place] > MOST_ALIKE or not made:  # They were made before the watching began.
            return
        watched = made[-1]
        self._places[watched.index] = place
        if place in self._observed:
            return
        if self.is_observing:
            self._awaited.append(watched)
            self.optimizers.add(watched.index)
        elif may_begin and state.step:
            self._begin(watched)

    def wants(self, watched: WatchedOptimizer) -> bool:
        """Tell whether the step that an optimizer is about to make is the one to observe."""
        if not self._microscope.is_on:
            return False
        if self.is_observing:
            return any(one is watched for one in self._awaited)
        return not watched.steps

    def saw(self, watched: WatchedOptimizer) -> None:
        """Note that the first step of an optimizer is being observed."""
        place = self._places.get(watched.index)
        if place is not None:
            self._observed.setdefault(place, set()).add(self._structure(watched))
            self._saw.add(watched.index)

    def after_step(self, check: Check, *, may_begin: bool) -> None:
        """End the observation after its step; begin one if an optimizer has made its first step unseen."""
        watched = check.watched
        if watched is None:
            return
        if self.is_observing:
            self._awaited = [one for one in self._awaited if one is not watched]
            others = self._state.step - self._began[0]
            if not self._awaited or others >= 2 * self._optimizers.count:
                self._end("the first step of a later phase is over")
            return
        is_plain = not check.has_closure and not check.is_bad
        may_begin = may_begin and not self._switch.gave_up
        if not watched.steps and is_plain and may_begin and self._is_new(watched):
            self._begin(watched)

    def _is_new(self, watched: WatchedOptimizer) -> bool:
        """Tell whether no optimizer made at the same place for such models was observed."""
        place = self._places.get(watched.index)
        if place is None or self._count >= MOST_OBSERVATIONS or watched.index in self._saw:
            return False
        known = self._observed.get(place)
        return not known or self._structure(watched) not in known

    def after_backward(self) -> None:
        """Give up if the step does not come: micro-batches take a limited number of backward passes."""
        if not self.is_observing:
            return
        _, backwards, work = self._began
        has_waited = self._state.backwards - backwards > MOST_BACKWARDS
        if has_waited and self._microscope.work - work > WAITING_WORK:
            self._end("no step of the new optimizer came", cut_short=True)

    def _end(self, reason: str, *, cut_short: bool = False) -> None:
        self._awaited = []
        self._switch.take_off(reason, cut_short=cut_short)

    def _begin(self, watched: WatchedOptimizer) -> None:
        state, microscope = self._state, self._microscope
        if (
            self._count >= MOST_OBSERVATIONS
            or self._switch.compiles
            or is_profiling()
            or microscope.is_busy
            or active_modes()
        ):
            return
        self._count += 1
        self._observed.setdefault(self._places[watched.index], set())
        self._awaited, self.optimizers = [watched], {watched.index}
        self._began = (state.step, state.backwards, microscope.work)
        self._cruise.leave()
        is_whole = hasattr(watched.optimizer, "param_groups")  # not yet inside of its `__init__`
        self._memory.begin_observation(watched.parameters() if is_whole else [])
        self._graph.begin_anew()
        self._activity.begin_anew()
        self._switch.put_on_for_late_optimizer(self._count, work=MOST_WORK)

    def _structure(self, watched: WatchedOptimizer) -> Structure:
        """Return the kinds of layers in the models of an optimizer, and which parts of them it holds."""
        held = {id(parameter) for parameter in watched.parameters()}
        found: set[object] = set()
        for _, root in self._names.roots():
            parameters = parameters_of(root)
            own = frozenset(_without_numbers(name) for name, one in parameters if id(one) in held)
            if own:
                found.add((own, frozenset(type(part) for part in root.modules())))
        return frozenset(found)


def _without_numbers(path: str) -> str:
    """Return `blocks.weight` for `blocks.3.weight`: a model of another depth is of the same kind."""
    return ".".join(part for part in path.split(".") if not part.isdigit())
