"""The errors that torchwhy shows to users: a message that helps, and a slug that is an anchor in docs/errors.md."""

from __future__ import annotations

from torchwhy.printable import one_line


class TorchwhyError(Exception):
    """The base class of all errors shown to users."""

    def __init__(self, message: str, *, slug: str) -> None:
        super().__init__(message)
        self.message = one_line(message)  # It may quote a stranger's file.
        self.slug = slug

    def __str__(self) -> str:
        return f"{self.message} [{self.slug}]"


class UsageError(TorchwhyError):
    """The command line asks for something impossible."""


class TraceError(TorchwhyError):
    """A recorded run cannot be read."""
