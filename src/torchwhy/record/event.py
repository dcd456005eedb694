"""The base of all events, and those that say what the trace does not hold."""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = 1
BEFORE_FIRST_STEP = -1
Recorded = Literal["operations", "modules", "activations", "parameters"]


class Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="event", kw_only=True):
    """The base of all events; every line has a kind."""


class Thinned(Event, frozen=True, tag="thinned"):
    """An optional measurement becomes rarer from this step on, with the reason."""

    step: int
    what: str
    reason: str


class LeftOut(Event, frozen=True, tag="left-out"):
    """An observed step had more operations, module calls, activations or parameters than were recorded.

    What a detector concludes from the absence of one of these is then unknown.
    """

    step: int
    what: Recorded
    kept: int
    look: int = 0


class MissingFeature(msgspec.Struct, frozen=True, omit_defaults=True):
    """Private names that torch or Python lacks, what is lost without them, and the probes that are off."""

    feature: str
    names: list[str]
    lost: str
    left_out: list[str] = []
    only_time: bool = False


class MicroscopeLeft(Event, frozen=True, tag="microscope-left"):
    """The microscope was switched off, with the reason.

    `compiled` if the program compiles its model; `cut_short` if it had not yet seen the step it was put on for.
    """

    step: int
    reason: str
    operations: int
    seconds: float
    compiled: bool = False
    cut_short: bool = False
