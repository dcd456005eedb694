"""Postpones collections of old garbage while a step is observed.

An observed step makes tens of thousands of small objects, which would make Python search everything that was ever
imported for garbage, several times: half of the time of an observed step. Young objects are collected as usual.
"""

from __future__ import annotations

import gc

_collect = gc.collect  # the holdings probe notes the calls of the program
SELDOM = 1000  # collections of the middle generation between two of the oldest


class CollectorRest:
    """Raises the threshold of the oldest generation, and puts it back unless the program has set its own meanwhile."""

    def __init__(self) -> None:
        self._before: tuple[int, int, int] | None = None

    def begin(self) -> None:
        """Postpone."""
        young, middle, old = gc.get_threshold()
        if self._before is None and 0 < old < SELDOM:
            self._before = (young, middle, old)
            _make_old()
            gc.set_threshold(young, middle, SELDOM)

    def end(self) -> None:
        """Collect as before. What has survived so far counts as old, so that no full collection is due at once."""
        before, self._before = self._before, None
        if before is None or gc.get_threshold() != (*before[:2], SELDOM):
            return
        gc.set_threshold(*before)
        if gc.isenabled() and not gc.get_freeze_count():
            _collect(1)
            _make_old()


def _make_old() -> None:
    """Let all objects that the collector knows count as old, unless the program freezes some."""
    if gc.get_freeze_count():
        return
    gc.freeze()
    gc.unfreeze()
