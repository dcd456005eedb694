"""Wires replay into observe, right after torch was imported in a process that is to be watched."""

from __future__ import annotations

import gc
from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchwhy.observe.session import Session

_began = thread_time()  # importing the rest of us is a part of what watching costs


def begin(run_directory: str) -> Session:
    """Start watching this process; events go to `run_directory`."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        from torchwhy.observe import session
        from torchwhy.observe.boot.arm import program_began
        from torchwhy.replay.assembly import assemble

        started = session.begin(run_directory, assemble)
        started.program_began = program_began() or started.began
    finally:
        if was_on:
            _collect_as_before()
    started.spend(max(0.0, thread_time() - _began))  # the clock of a forked process begins anew
    return started


def _collect_as_before() -> None:
    """Count what we imported as old, so that no search through all that torch imported is due for it."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
    gc.enable()


def begin_block(run_directory: str) -> Session:
    """Start watching in the middle of a program, which has made optimizers already."""
    began = thread_time()
    from torchwhy.observe import session
    from torchwhy.replay.assembly import assemble

    started = session.begin(run_directory, assemble)
    started.parts.optimizers.expect_earlier()
    started.spend(max(0.0, thread_time() - began))
    return started
