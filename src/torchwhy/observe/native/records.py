"""Base classes of objects that every step touches: the accelerator keeps some of their attributes in plain memory.

Without it they are `object`. The attributes keep their names and meaning; records.c lists them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

VARIABLE = "TORCHWHY_NATIVE"
EDITION = 9  # an accelerator of another edition is not used


def is_refused() -> bool:
    """Tell whether the environment switches the accelerator off."""
    return os.environ.get(VARIABLE) == "0"


fast: Any = None
if not is_refused():
    try:
        from torchwhy.observe.native import _fast as fast
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
    StateRecord = object
    TallyRecord = object
    WatchedRecord = object
else:

    def __getattr__(name: str) -> type:
        if not name.endswith("Record"):
            raise AttributeError(name)
        return object if fast is None else getattr(fast, name)
