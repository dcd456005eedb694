"""Every error torchwhy raises to its user: one sentence that helps, and a slug that is an anchor in docs/errors.md."""

from __future__ import annotations


class TorchwhyError(Exception):
    """The base of all errors shown to users."""

    def __init__(self, message: str, *, slug: str) -> None:
        super().__init__(message)
        self.message = message
        self.slug = slug

    def __str__(self) -> str:
        return f"{self.message} [{self.slug}]"


class UsageError(TorchwhyError):
    """The command line asks for something that cannot be done."""


class TraceError(TorchwhyError):
    """A recorded run cannot be read."""
