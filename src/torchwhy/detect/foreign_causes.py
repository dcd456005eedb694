"""The causes of other packages, by their entry points.

Most environments have none. Looking into the `entry_points.txt` files first saves importing `importlib.metadata`, which
takes as long as reading a trace.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

FOLDERS = (".dist-info", ".egg-info", "EGG-INFO", ".egg")
LIST = "entry_points.txt"


def entry_points(group: str) -> Iterable[EntryPoint]:
    """Return the entry points of a group."""
    if not _may_have(group):
        return ()
    from importlib import metadata

    return metadata.entry_points(group=group)


def _may_have(group: str) -> bool:
    """Tell whether an installed package may have entry points of a group; only directories can say no."""
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if _is_other(finder)):
        return True
    return any(_names(entry or ".", group.encode()) for entry in dict.fromkeys(sys.path))


def _is_other(finder: object) -> bool:
    return getattr(finder, "__name__", None) != "PathFinder"


def _names(folder: str, group: bytes) -> bool:
    """Tell whether the packages in an entry of the path may name a group."""
    try:
        found = [one.name for one in os.scandir(folder) if one.name.endswith(FOLDERS)]
    except NotADirectoryError:
        return True  # an archive
    except OSError:
        return False
    return any(_lists(Path(folder, name), group) for name in found)


def _lists(place: Path, group: bytes) -> bool:
    if place.suffix == ".egg":
        return True
    try:
        return group in (place / LIST).read_bytes()
    except OSError:
        return False
