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
# By how much a program's imports and first step multiply the memory blocks after `import torch`, less one: 0.78 for a
# small GAN. What is more are records of ours, which grow with the model; a deep encoder makes no more searches.
MOST_GROWN = 0.8


class CollectorRest:
    """Raises the threshold of the oldest generation, and puts it back unless the program has set its own meanwhile."""

    def __init__(self) -> None:
        self._before: tuple[int, int, int] | None = None
        self._blocks = 0

    def begin(self) -> None:
        """Postpone."""
        young, middle, old = gc.get_threshold()
        if self._before is None and 0 < old < SELDOM:
            self._before = (young, middle, old)
            self._blocks = sys.getallocatedblocks()  # Counting the objects would take 20 ms.
            _make_old()
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
        _make_old(objects_are_counted=True)
        search = SEARCH * (thread_time() - began)
        now = max(1, sys.getallocatedblocks())
        grown = max(0.0, min(now - self._blocks, MOST_GROWN * self._blocks))
        return VISITS * search * grown / now


def _make_old(*, objects_are_counted: bool = False) -> None:
    """Let all objects that the collector knows count as old, unless the program freezes some."""
    if gc.get_freeze_count():
        return
    gc.freeze()
    if objects_are_counted:
        gc.get_freeze_count()
    gc.unfreeze()
