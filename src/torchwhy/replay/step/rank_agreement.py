"""Lets ranks decide together over the store of their process group, once one of them has a reason.

Nothing is asked while training is healthy, no collective is used, and no rank waits for long: a rank that does not
vote has no reason, and the others then act without it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from torchwhy.observe.torch_features.torch_internals import default_store, world_size

POLLS = 250  # how often a rank asks whether all have voted
PAUSE_SECONDS = 0.02  # between two of them, so that it waits five seconds in all
KEY = "torchwhy"


class RankAgreement:
    """Asks the store; without one, or if it is gone, the ranks do not agree."""

    def agree(self, subject: str, vote: str) -> bool:
        """Tell whether all ranks give the same vote on a subject; all that vote get the same answer."""
        answer = None
        with suppress(Exception):  # the rank that keeps the store may be gone
            answer = self._answer(f"{KEY}/{subject}", vote)
        return answer == b"together"

    def meet(self, subject: str) -> None:
        """Wait for the other ranks to come here as well, so that a launcher ends none of them before."""
        with suppress(Exception):
            store, key = default_store(), f"{KEY}/{subject}"
            come = 0 if store is None else store.add(key, 1)
            for _ in range(POLLS):
                if not 0 < come < world_size():
                    return
                time.sleep(PAUSE_SECONDS)
                come = store.add(key, 0)

    def _answer(self, key: str, vote: str) -> Any:
        store = default_store()
        if store is None:
            return None
        verdict = f"{key}/verdict"
        if store.add(f"{key}/{vote}", 1) == world_size():
            return store.compare_set(verdict, "", "together")
        for _ in range(POLLS):
            if store.check([verdict]):
                return store.get(verdict)
            time.sleep(PAUSE_SECONDS)
        return store.compare_set(verdict, "", "apart")
