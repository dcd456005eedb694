"""Wires replay into observe, right after torch was imported in a process that is to be watched."""

from __future__ import annotations

from time import thread_time

_began = thread_time()  # importing the rest of us is a part of what watching costs

from torchwhy.observe import session  # noqa: E402
from torchwhy.replay.assembly import assemble  # noqa: E402


def begin(run_directory: str) -> session.Session:
    """Start watching this process; events go to `run_directory`."""
    started = session.begin(run_directory, assemble)
    started.spend(max(0.0, thread_time() - _began))  # the clock of a forked process begins anew
    return started
