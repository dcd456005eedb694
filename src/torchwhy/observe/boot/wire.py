"""Wires replay into observe, right after torch was imported in a process that is to be watched."""

from __future__ import annotations

from torchwhy.observe import session
from torchwhy.replay.assembly import assemble


def begin(run_directory: str) -> session.Session:
    """Start watching this process; events go to `run_directory`."""
    return session.begin(run_directory, assemble)
