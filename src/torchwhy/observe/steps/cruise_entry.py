"""One optimizer at cruising speed: what must stay the same for its steps to be ordinary."""

from __future__ import annotations

import math
import weakref
from typing import Any

from torchwhy.observe.native.records import EntryRecord
from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer
from torchwhy.observe.steps.gradients import Reading

RATE_CHANGE = 0.01  # relative change of a learning rate that is recorded


class Entry(EntryRecord):
    """What one optimizer held when the cruise began, and its losses since then; keeps nothing of it alive."""

    def __init__(self, optimizer: Any, watched: WatchedOptimizer) -> None:
        groups = optimizer.param_groups
        self.reference = weakref.ref(optimizer)
        self.watched = watched
        self.index = watched.index
        self.members = _members(groups)
        self.reading = Reading([p for group in groups for p in group["params"]])
        self.rates = [_number(group.get("lr")) for group in groups]  # as last recorded
        self.rates_moved = False
        self.losses: list[float] = []  # of steps that the handler does not know yet
        self.highest = math.inf  # the handler wants to know a loss above this at once
        self.most = 0  # and otherwise this many losses together

    def holds_the_same(self, optimizer: Any) -> bool:
        """Tell whether no parameter and no group was added; notes whether a learning rate has moved.

        A parameter may take the place of another one: each step reads the gradients of those that are there.
        """
        groups = optimizer.param_groups
        if len(groups) != len(self.members):
            return False
        for group, (known_group, known_parameters, count, known) in zip(
            groups, self.members, strict=True
        ):
            parameters = group["params"]
            if (
                id(group) != known_group
                or id(parameters) != known_parameters
                or len(parameters) != count
            ):
                return False
            rate = group.get("lr")
            if rate is not known and not (type(known) is weakref.ref and known() is rate):
                self.rates_moved = True
        return True

    def changed_rates(self) -> list[float | None] | None:
        """Return the learning rates if one has moved by enough to record it."""
        self.rates_moved = False
        optimizer = self.reference()
        groups = [] if optimizer is None else optimizer.param_groups
        rates = [_number(group.get("lr")) for group in groups]
        self.members = _members(groups)
        for rate, before in zip(rates, self.rates, strict=True):
            if rate is None or before is None:
                continue
            if abs(rate - before) > RATE_CHANGE * abs(before):
                self.rates = rates
                return [float(group["lr"]) for group in groups]
        return None


def _members(groups: list[dict[str, Any]]) -> list[tuple[int, int, int, Any]]:
    """Return of each group the ids of it and of its list of parameters, their number, and the learning rate."""
    return [
        (id(group), id(group["params"]), len(group["params"]), _held(group.get("lr")))
        for group in groups
    ]


def _held(rate: Any) -> Any:
    """Return what tells a learning rate from another one: itself, or a reference that keeps no tensor alive."""
    if rate is None or type(rate) in (float, int):
        return rate
    try:
        return weakref.ref(rate)
    except TypeError:
        return None


def _number(rate: Any) -> float | None:
    return rate if type(rate) is float else None
