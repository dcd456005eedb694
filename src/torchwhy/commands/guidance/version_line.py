"""The versions that a bug report needs, without importing torch."""

from __future__ import annotations

import argparse
from typing import Any

from torchwhy import __version__


def version_line() -> str:
    """Return `torchwhy 0.1.0 (torch 2.9.0, Python 3.12.1)`."""
    from platform import python_version

    return f"torchwhy {__version__} ({_torch()}, Python {python_version()})"


def _torch() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"torch {version('torch')}"
    except PackageNotFoundError:
        return "no torch"


class VersionAction(argparse.Action):
    """Prints the versions when the option is met, and looks them up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        """Print and leave."""
        print(version_line())
        parser.exit()
