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
    """What one optimizer held when the cruise began, and its losses since then."""

    def __init__(self, optimizer: Any, watched: WatchedOptimizer) -> None:
        self.reference = weakref.ref(optimizer)
        self.watched = watched
        self.index = watched.index
        self.groups = optimizer.param_groups
        self.members = _members(self.groups)
        self.reading = Reading([p for group in self.groups for p in group["params"]])
        self.rates = [group.get("lr") for group in self.groups]  # as last recorded
        self.rates_moved = False
        self.losses: list[float] = []  # of steps that the handler does not know yet
        self.highest = math.inf  # the handler wants to know a loss above this at once
        self.most = 0  # and otherwise this many losses together

    def holds_the_same(self, optimizer: Any) -> bool:
        """Tell whether no parameter and no group was added; notes whether a learning rate has moved."""
        groups = optimizer.param_groups
        if groups is not self.groups or len(groups) != len(self.members):
            return False
        for group, parameters, count, known in self.members:
            if group["params"] is not parameters or len(parameters) != count:
                return False
            if group.get("lr") is not known:
                self.rates_moved = True
        return True

    def changed_rates(self) -> list[float | None] | None:
        """Return the learning rates if one has moved by enough to record it."""
        self.rates_moved = False
        known = self.rates
        rates = [group.get("lr") for group in self.groups]
        self.members = _members(self.groups)
        for rate, before in zip(rates, known, strict=True):
            if type(rate) is not float or type(before) is not float:
                continue
            if abs(rate - before) > RATE_CHANGE * abs(before):
                self.rates = rates
                return [float(rate) for rate in rates]
        return None


def _members(groups: list[dict[str, Any]]) -> list[tuple[dict[str, Any], list[Any], int, Any]]:
    return [(group, group["params"], len(group["params"]), group.get("lr")) for group in groups]
