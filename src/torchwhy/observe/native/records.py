"""Base classes of what every step touches: attributes as plain memory where the accelerator was built, else nothing.

The attributes are the ones of the class itself, with their names and meaning; records.c says which lie in memory.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

VARIABLE = "TORCHWHY_NATIVE"
EDITION = 3  # of what the accelerator offers; one that was built from older source is not used


def is_refused() -> bool:
    """Tell whether the environment asks to go without."""
    return os.environ.get(VARIABLE) == "0"


fast: Any = None
if not is_refused():
    try:
        from torchwhy.observe.native import _fast as fast  # type: ignore[attr-defined, no-redef]
    except ImportError:
        fast = None
    if getattr(fast, "EDITION", None) != EDITION:
        fast = None

if TYPE_CHECKING:
    BatchesRecord = object
    BatchRecord = object
    CruiseRecord = object
    DroppedRecord = object
    EntryRecord = object
    GuestsRecord = object
    ModesRecord = object
    RandomRecord = object
    ReadingRecord = object
    SentinelRecord = object
    TallyRecord = object
    WatchedRecord = object
else:

    def __getattr__(name: str) -> type:
        if not name.endswith("Record"):
            raise AttributeError(name)
        return object if fast is None else getattr(fast, name)
