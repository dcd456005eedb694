"""Append events to one file per process, one JSON line each; a written line survives SIGKILL."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from torchwhy.record.events import Event, ProgramFile
from torchwhy.record.secrets import Secrets

RECORDING_STOPPED = (
    "recording-stopped.txt"  # Beside the trace, if torchwhy could not write any more of it.
)
MOST_PROCESSES = (
    4096  # More than any known run has; the bound keeps a full folder from hanging the program.
)
FREE_TEXT = {"argv", "message", "reason", "detail"}  # Fields of events that hold any text.
UNKNOWN_SIZE = -1
NO_SECRETS = Secrets(())


def append_event(path: Path, event: Event) -> None:
    """Append an event to the trace of a process that has ended; a line that was torn by its end goes."""
    with path.open("r+b") as trace:
        whole = trace.read().rfind(b"\n") + 1
        trace.seek(whole)
        trace.truncate()
        trace.write(msgspec.json.encode(event) + b"\n")


def _plain(value: Any) -> int:
    """Return `UNKNOWN_SIZE` for the ragged dimension of a nested tensor, which has no number in Python."""
    if type(value).__name__ == "SymInt":
        return UNKNOWN_SIZE
    raise NotImplementedError(f"Encoding objects of type {type(value).__name__} is unsupported")


class TraceWriter:
    """Writes whole lines with single `write` calls on an append-only descriptor.

    The first event creates the file, so a process that never trains leaves no file.
    """

    def __init__(
        self,
        directory: Path,
        *,
        rank: int,
        header: Callable[[], Event],
        secrets: Secrets = NO_SECRETS,
    ) -> None:
        self._secrets = secrets
        self._directory = directory
        self._rank = rank
        self._header = header
        self._descriptor: int | None = None
        self._encode = msgspec.json.Encoder(enc_hook=_plain).encode
        self._process = os.getpid()
        self.path: Path | None = None  # Set when the file exists.
        self.before_write: Callable[[], object] = lambda: (
            None
        )  # Lets buffered lines be written first.

    def write(self, event: Event) -> None:
        """Append one event. A forked child of the recording process writes nothing."""
        if os.getpid() != self._process:
            return
        if self._descriptor is None:
            header = self._header()
            self._descriptor = self._open(getattr(header, "rank", self._rank))
            self._append(self._descriptor, header)
        self.before_write()
        self._append(self._descriptor, event)

    def append(self, line: bytes) -> None:
        """Append an encoded line; do nothing before the first event or after `close`."""
        if self._descriptor is not None:
            self._put(self._descriptor, line)

    def _append(self, descriptor: int, event: Event) -> None:
        line = self._encode(event)
        if self._secrets.may_be_in(line):
            line = self._encode(self._without_secrets(event))
        self._put(descriptor, line + b"\n")

    def _without_secrets(self, event: Event) -> Event:
        """Return the event with the secrets of the command line masked; columns of the program's text stay."""
        secrets = self._secrets
        if isinstance(event, ProgramFile):
            return msgspec.structs.replace(event, text=secrets.masked_in_place(event.text))
        data = msgspec.to_builtins(event)
        masked = secrets.masked_data(data)
        if masked == data:
            return event
        try:
            return msgspec.convert(masked, type(event))
        except msgspec.ValidationError:  # The secret is a word that we use, such as "loss".
            free = {name: masked[name] for name in FREE_TEXT & set(masked)}
            return msgspec.convert({**data, **free}, type(event))

    def _put(self, descriptor: int, line: bytes) -> None:
        if os.write(descriptor, line) != len(line):
            raise OSError(
                errno.ENOSPC, "only a part of the line could be written", str(self._directory)
            )

    def _open(self, rank: int) -> int:
        """Open `rankN.jsonl` for this rank; a second process with the same rank takes the next free number."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
        for number in range(rank, rank + MOST_PROCESSES):
            try:
                path = self._directory / f"rank{number}.jsonl"
                descriptor = os.open(path, flags, 0o644)
            except FileExistsError:
                continue
            self.path = path
            return descriptor
        raise FileExistsError(
            f"more than {MOST_PROCESSES} processes recorded into {self._directory}"
        )

    def close(self) -> None:
        """Close the file; later writes do nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._process = -1
