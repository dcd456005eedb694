"""What every event has, and the numbers all of them share."""

from __future__ import annotations

import msgspec

SCHEMA = 1
BEFORE_FIRST_STEP = -1


class Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="event", kw_only=True):
    """What every line has: nothing but its kind."""
