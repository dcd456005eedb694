"""One file per cause of the family *numerics*."""

from __future__ import annotations

from torchwhy.record.events import Alarm, Birth, Crash, GradientsClipped

# Every cause of this family reads one of these events first; see `detect/registry.py`.
STARTS_FROM = (Birth, Alarm, GradientsClipped, Crash)
