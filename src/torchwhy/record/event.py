"""The base of all events, and the numbers they share."""

from __future__ import annotations

import msgspec

SCHEMA = 1
BEFORE_FIRST_STEP = -1


class Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="event", kw_only=True):
    """The base of all events; every line has a kind."""
