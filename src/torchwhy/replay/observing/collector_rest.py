"""Postpones collections of old garbage while the first steps are observed.

An observed step makes tens of thousands of small objects, which would make Python search everything that was ever
imported for garbage, several times: half of the time of an observed step. Young objects are collected as usual.
The program's own imports and first steps would have caused some of these searches, too: it is spared them.
"""

from __future__ import annotations

import gc
import sys
from time import thread_time

_collect = gc.collect  # the holdings probe notes the calls of the program
SELDOM = 1000  # collections of the middle generation between two of the oldest
# Python searches all old objects whenever there are a quarter more of them: four visits for each new one.
VISITS = 4 if sys.version_info < (3, 14) else 0
# How many times longer a search takes than counting the same objects: 5.5 to 6 with 165,000 and with 280,000 of them.
SEARCH = 5.7


class CollectorRest:
    """Raises the threshold of the oldest generation, and puts it back unless the program has set its own meanwhile."""

    def __init__(self) -> None:
        self._before: tuple[int, int, int] | None = None
        self._objects = 0

    def begin(self) -> None:
        """Postpone."""
        young, middle, old = gc.get_threshold()
        if self._before is None and 0 < old < SELDOM:
            self._before = (young, middle, old)
            self._objects = _count()
            gc.set_threshold(young, middle, SELDOM)

    def end(self) -> float:
        """Collect as before; return how many seconds of collections the program was spared.

        What has survived so far counts as old, so that no full collection is due at once.
        """
        before, self._before = self._before, None
        if before is None or gc.get_threshold() != (*before[:2], SELDOM):
            return 0.0
        gc.set_threshold(*before)
        if not gc.isenabled() or gc.get_freeze_count():
            return 0.0
        _collect(1)
        began = thread_time()
        objects = _count()
        counting = thread_time() - began
        grown = max(0, objects - self._objects) if self._objects else 0
        return VISITS * SEARCH * counting * grown / max(1, objects)


def _count() -> int:
    """Return how many objects the collector knows, which all count as old from now on; 0 where the program freezes."""
    if gc.get_freeze_count():
        return 0
    gc.freeze()
    count = gc.get_freeze_count()
    gc.unfreeze()
    return count
