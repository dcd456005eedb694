"""Wires replay into observe, right after torch was imported in a process that is to be watched."""

from __future__ import annotations

from torchwhy.observe import session
from torchwhy.replay.handler import Replay
from torchwhy.replay.microscope import dispatch_mode


def begin(run_directory: str) -> session.Session:
    """Start watching this process; events go to `run_directory`."""
    watched = session.begin(run_directory, Replay)
    handler = watched.handler
    if isinstance(handler, Replay):
        watched.guests.may_run("microscope", dispatch_mode.NEEDS)
        watched.guests.protect("microscope", handler.begin)()
    return watched
