"""One file per cause of the family *errors*: the program stops with an exception, or catches one and continues."""

from __future__ import annotations

from torchwhy.record.crashes import Crash

# Every cause of this family reads one of these events first; see `detect/registry.py`.
STARTS_FROM = (Crash,)
