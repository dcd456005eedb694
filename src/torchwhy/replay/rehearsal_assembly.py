"""Wires a rehearsal of `torchwhy check`: an ordinary run that captures its steps and puts questions in the end."""

from __future__ import annotations

from torchwhy.observe.session import Session
from torchwhy.replay.assembly import RunReplay
from torchwhy.replay.microscope import dispatch_mode
from torchwhy.replay.rehearsal.data_code.data_rehearsal import DataRehearsal
from torchwhy.replay.rehearsal.rehearsal import Rehearsal
from torchwhy.replay.rehearsal.rehearsing import Rehearsing


class RehearsalReplay(RunReplay):
    """Watches like `RunReplay`, captures steps, and asks questions of them in the end; compiled code runs eagerly."""

    _handler_kind = Rehearsing
    runs_eagerly = True
    handler: Rehearsing

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        parts = session.parts
        self._rehearsal = Rehearsal(
            parts.optimizers,
            parts.recorder,
            parts.state,
            batches=parts.batches,
            seconds=session.settings.rehearsal_seconds,
            failed=lambda problem: parts.guests.switch_off("rehearsal", problem),
        )
        self.handler.rehearse(self._rehearsal, parts.guests.protect)

    def begin(self) -> None:
        """Put the microscope on for the first steps, and capture all of them."""
        super().begin()
        if self._parts.guests.may_run("rehearsal", dispatch_mode.NEEDS):
            self._rehearsal.begin(self._parts.hooks.replace)

    def ask(self) -> None:
        """Put the questions about the data, then those about the steps."""
        parts = self._parts
        data = DataRehearsal(parts.loaders.loaders, parts.recorder, parts.state)
        parts.guests.protect("data rehearsal", data.ask)()
        self._rehearsal.ask()
