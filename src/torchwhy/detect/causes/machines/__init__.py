"""One file per cause of the family *machines*."""

from __future__ import annotations

from torchwhy.record.events import Alarm

# Every cause of this family reads one of these events first; see `detect/registry.py`.
STARTS_FROM = (Alarm,)
