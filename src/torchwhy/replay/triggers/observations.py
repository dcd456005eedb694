"""Looks at later phases: an optimizer that begins when the first look is over gets one of its own.

A program that pretrains and then fine-tunes, or trains a teacher and then a student, is wired anew with each optimizer
that it makes. The microscope is put on when such an optimizer is made and taken off when it has made its first step; if
that step came unseen, the second one is looked at. Optimizers that are made at one place for models of one kind, as in
every fold, epoch or inner loop, are looked at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchwhy.observe.program.frames import user_sites
from torchwhy.observe.program.names import parameters_of
from torchwhy.observe.steps.sentinel import Check
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.mode_stack import active_modes

if TYPE_CHECKING:
    from torchwhy.observe.steps.watched_optimizers import WatchedOptimizer
    from torchwhy.replay.equipment import Stage

MOST_LOOKS = 3  # of one run, besides the first
MOST_SECONDS = 5.0  # of looking for one phase
MOST_BACKWARDS, WAITING_SECONDS = (
    16,
    0.5,
)  # of looking, in which the new optimizer should make a step
MOST_ALIKE = 3  # optimizers of one place whose models are compared
DEPTH = 4  # calls between the making of an optimizer and the program's own top that tell one place from another

Place = tuple[object, ...]
Structure = frozenset[object]


class Observations:
    """Decides which optimizers are looked at, and when such a look begins and ends."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._looks = 0
        self._made: dict[Place, int] = {}
        self._places: dict[int, Place] = {}
        self._looked_at: dict[Place, set[Structure]] = {}
        self._awaited: list[WatchedOptimizer] = []
        self.optimizers: set[int] = set()  # of the phase in hand, or the last one
        self._began = (0, 0, 0.0)  # steps, backward passes and seconds of looking when a look began

    @property
    def is_looking(self) -> bool:
        """Tell whether the microscope is on because of a later phase."""
        return bool(self._stage.observation)

    def optimizer_made(self, *, may_look: bool) -> None:
        """Look at what follows if this is the first optimizer of its place, and training is under way.

        What it will hold is not known yet; an optimizer that is made again is compared at its first step.
        """
        sentinel = self._stage.session.sentinel
        if (self._looks >= MOST_LOOKS and not self.is_looking) or sentinel.is_elsewhere():
            return
        place = tuple(
            (site.code, site.instruction) for site in user_sites(frame_at(2), limit=DEPTH)
        )
        self._made[place] = self._made.get(place, 0) + 1
        watched = sentinel.optimizers.all()[-1]
        if self._made[place] > MOST_ALIKE:
            return
        self._places[watched.index] = place
        if place in self._looked_at:
            return
        if self.is_looking:
            self._awaited.append(watched)
            self.optimizers.add(watched.index)
        elif may_look and sentinel.step:
            self._begin(watched)

    def wants(self, watched: WatchedOptimizer) -> bool:
        """Tell whether the step that an optimizer is about to make is the one to look at."""
        if not self._stage.microscope.is_on:
            return False
        return (
            any(one is watched for one in self._awaited) if self.is_looking else not watched.steps
        )

    def saw(self, watched: WatchedOptimizer) -> None:
        """Note that the first step of an optimizer is being looked at."""
        place = self._places.get(watched.index)
        if place is not None:
            self._looked_at.setdefault(place, set()).add(_structure(self._stage, watched))

    def after_step(self, check: Check, *, may_look: bool) -> None:
        """End the look at the step it was for; begin one if an optimizer has made its first step unseen."""
        watched = check.watched
        if watched is None:
            return
        if self.is_looking:
            self._awaited = [one for one in self._awaited if one is not watched]
            others = self._stage.session.sentinel.step - self._began[0]
            if not self._awaited or others >= 2 * self._stage.session.sentinel.optimizers.count:
                self.end("the first step of a later phase is over")
            return
        is_plain = not check.has_closure and not check.is_bad
        if not watched.steps and is_plain and may_look and self._is_new(watched):
            self._begin(watched)

    def _is_new(self, watched: WatchedOptimizer) -> bool:
        """Tell whether no optimizer that was made at the same place for such models was looked at."""
        place = self._places.get(watched.index)
        if place is None or self._looks >= MOST_LOOKS:
            return False
        known = self._looked_at.get(place)
        return not known or _structure(self._stage, watched) not in known

    def after_backward(self) -> None:
        """Wait for the step as long as micro-batches may take, and no longer."""
        if not self.is_looking:
            return
        _, backwards, seconds = self._began
        sentinel, microscope = self._stage.session.sentinel, self._stage.microscope
        has_waited = sentinel.backwards - backwards > MOST_BACKWARDS
        if has_waited and microscope.seconds - seconds > WAITING_SECONDS:
            self.end("no step of the new optimizer came")

    def end(self, reason: str) -> None:
        """Take the microscope off."""
        self._awaited = []
        self._stage.step_back(reason)

    def _begin(self, watched: WatchedOptimizer) -> None:
        stage = self._stage
        sentinel, microscope = stage.session.sentinel, stage.microscope
        if self._looks >= MOST_LOOKS or stage.compiles or microscope.is_busy or active_modes():
            return
        self._looks += 1
        self._looked_at.setdefault(self._places[watched.index], set())
        self._awaited, self.optimizers = [watched], {watched.index}
        self._began = (sentinel.step, sentinel.backwards, microscope.seconds)
        stage.session.cruise.leave()
        is_whole = hasattr(watched.optimizer, "param_groups")  # in its `__init__` it is not
        own = watched.parameters() if is_whole else []
        stage.begin_observation(self._looks, own, seconds=MOST_SECONDS)


def _structure(stage: Stage, watched: WatchedOptimizer) -> Structure:
    """Return which kinds of layers the models of an optimizer are made of, and which parts of them it holds."""
    held = {id(parameter) for parameter in watched.parameters()}
    found: set[object] = set()
    for _, root in stage.session.names.roots():
        parameters = parameters_of(root)
        own = frozenset(_without_numbers(name) for name, one in parameters if id(one) in held)
        if own:
            found.add((own, frozenset(type(part) for part in root.modules())))
    return frozenset(found)


def _without_numbers(path: str) -> str:
    """Return `blocks.weight` for `blocks.3.weight`: a model of another depth is no other kind."""
    return ".".join(part for part in path.split(".") if not part.isdigit())
