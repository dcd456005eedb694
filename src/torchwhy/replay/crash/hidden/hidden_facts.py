"""Facts and places of a hidden cause by name, for the `Crash` event."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.frames import span_of
from torchwhy.plain_data import dataclass
from torchwhy.record.numbers import Real

if TYPE_CHECKING:
    from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame

Fact = Real | bool | str | list[int] | None


@dataclass
class HiddenFacts:
    """Merged into `Crash.facts` and `Crash.places`."""

    facts: dict[str, Fact] = field(default_factory=dict)
    places: dict[str, SourceSpan] = field(default_factory=dict)


def user_frames(frames: list[TracebackFrame]) -> list[TracebackFrame]:
    """Return the user's own frames of a traceback, innermost first."""
    return [frame for frame in reversed(frames) if frame.layer == "user"]


def line_of(frame: TracebackFrame) -> int:
    """Return the line of a frame at the exception; the frame itself may have moved on since."""
    return span_of(frame.site).line
