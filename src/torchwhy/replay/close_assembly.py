"""Wires replay for a block that is watched closely; imported there only."""

from __future__ import annotations

from torchwhy.observe.session import Session
from torchwhy.replay.assembly import RunReplay
from torchwhy.replay.handlers.watching_closely import WatchingClosely


class CloseReplay(RunReplay):
    """Watches every step under the microscope."""

    _handler_kind = WatchingClosely
    handler: WatchingClosely

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.handler.watch_every_step()
