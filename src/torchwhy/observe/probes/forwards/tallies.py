"""What is counted of the calls of a model at one place, and what becomes of it when the model goes."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple, TypeAlias

import torch

from torchwhy.observe.native.records import TallyRecord
from torchwhy.observe.program.frames import Site
from torchwhy.plain_data import dataclass

# How a model is called and where: its identity or name, whether it trains, with gradients, the code and place in it.
Called: TypeAlias = tuple[int, bool, bool, int, int]
OfName: TypeAlias = tuple[str, bool, bool, int, int]


class Switch(NamedTuple):
    """The last `train()` or `eval()` call on a model, and how many backward passes had run then."""

    name: str
    site: Site | None
    backwards: int


@dataclass
class Place:
    """Where and how a model is called."""

    path: str
    training: bool
    grad: bool
    layers: list[str]
    site: Site | None
    callers: tuple[Site, ...]
    first_step: int
    switch: Switch | None
    freshly: bool
    code: CodeType  # kept alive, so that no other code gets its identity


class Tally(TallyRecord):
    """What was counted at one place."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.last_step = -1
        self.steps = 0
        self.count = 0
        self.backwards = 0
        self.feeds = False
        self.ended = False  # The model is gone; another one may get its identity.
        self.looks = 0
        self.asked = 0
        self.repeats = 0
        self.input: weakref.ref[torch.Tensor] | None = None

    def going_on(self) -> Tally:
        """Return a tally with the same counts. This one may still be known by the identity of its model."""
        after = Tally(self.place)
        after.last_step, after.steps, after.count = self.last_step, self.steps, self.count
        after.backwards, after.feeds = self.backwards, self.feeds
        after.looks, after.asked, after.repeats = self.looks, self.asked, self.repeats
        return after


class EndedTallies:
    """The counts of models that are gone; the next model of the same name and place goes on from them.

    Its identity may be that of any model that is gone, so it says nothing.
    """

    def __init__(self) -> None:
        self._of_name: dict[OfName, list[Tally]] = {}

    def __iter__(self) -> Iterator[Tally]:
        return iter([tally for tallies in self._of_name.values() for tally in tallies])

    def add(self, called: Called, tally: Tally) -> None:
        """Keep a tally whose model is gone."""
        tally.ended = True
        self._of_name.setdefault((tally.place.path, *called[1:]), []).append(tally)

    def go_on_from(self, place: OfName) -> Tally | None:
        """Take the counts of a model of this name out, for the one that follows it."""
        ended = self._of_name.get(place)
        if not ended:
            return None
        before = ended.pop(0)
        if not ended:
            del self._of_name[place]
        return before.going_on()

    def clear(self) -> None:
        """Forget all of them."""
        self._of_name.clear()
