"""One trace → how its rank ended, in a few events. The lines of its steps are passed over, not decoded.

A run of 1024 ranks and 100 000 steps has ten million of these lines, and `Step`s of them would take minutes and
gigabytes.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import cast

import msgspec

from torchwhy.errors import TraceError
from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record import events as kinds
from torchwhy.record.crashes import Crash
from torchwhy.record.kept.kept_failure import UpdateSkipped
from torchwhy.record.numbers import is_finite
from torchwhy.record.run_folder import LARGEST_TRACE, read_bounded
from torchwhy.record.step_log import recent_steps
from torchwhy.record.trace import HEAD, Trace, check_step, decoder_for, rank_in, tag_of

STEP_HEAD = b'{"event":"step",'  # Inside of a string, its quotes would be escaped.
KEPT = (
    kinds.RunStarted,
    kinds.Alarm,
    kinds.Birth,
    kinds.Replayed,
    kinds.ExceptionSeen,
    kinds.ProbeFailed,
    kinds.RunEnded,
    Crash,
    UpdateSkipped,
)
NO_STEP = re.compile(rb'\n(?!\{"event":"step",)')
VARYING = re.compile(r"0x[0-9a-f]+|\d+")  # Addresses, ports and ranks in messages.
MOST_COMPARED = 64  # births and exceptions of one rank


@dataclass(frozen=True)
class Outline:
    """How one rank fared: its trace with few events, and `course`, which is equal for ranks that fared alike."""

    path: Path
    trace: Trace
    course: Hashable


def read_outline(path: Path, *, exit_code: int | None = None) -> Outline:
    """Return the outline of one `rankN.jsonl`, with the newest step as its only step."""
    others, newest = _parted(read_bounded(path, LARGEST_TRACE))
    events: list[kinds.Event] = []
    seen: set[bytes] = set()
    for number, line in enumerate(others, start=1):
        found = HEAD.match(line)
        tag = b"" if found is None else found[1]
        seen.add(tag)
        if tag in _kept_tags():
            event = _decoded(line, is_last=number == len(others), path=path)
            events += [] if event is None else [event]
    damage: tuple[str, ...] = ()
    if not any(isinstance(event, kinds.RunEnded) for event in events):
        recent, damage = recent_steps(path, -1 if newest is None else newest.step)
        newest = max([*recent[-1:], *([newest] if newest else [])], key=_step, default=None)
    if newest is not None:
        events.append(newest)
    number = int(VARYING.findall(path.stem)[0])
    trace = Trace(tuple(events), rank_in(events, number), exit_code=exit_code, damage=damage)
    return Outline(path, trace, _course(trace, frozenset(seen)))


def _parted(content: bytes) -> tuple[list[bytes], kinds.Step | None]:
    """Return the lines that are no steps, and the newest step that has a line."""
    starts = [] if content.startswith(STEP_HEAD) else [0]
    starts += [found.end() for found in NO_STEP.finditer(content)]
    others = [content[start:end] for start in starts if (end := _end(content, start)) > start]
    start = len(content)
    for _ in range(2):  # A kill may have torn the last one.
        start = content.rfind(STEP_HEAD, 0, start)
        if start < 0:
            break
        line = content[start : _end(content, start)]
        with suppress(msgspec.DecodeError):
            step = decoder_for(line).decode(line)
            check_step(step)
            return others, cast("kinds.Step", step)
    return others, None


def _end(content: bytes, start: int) -> int:
    end = content.find(b"\n", start)
    return len(content) if end < 0 else end


def _decoded(line: bytes, *, is_last: bool, path: Path) -> kinds.Event | None:
    try:
        event = decoder_for(line).decode(line)
        check_step(event)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        if is_last:
            return None
        raise TraceError(
            f"{path} holds a line that is not an event of schema {kinds.SCHEMA}: {problem}. "
            "It was written by another version of torchwhy, or the file was changed.",
            slug="unreadable-trace",
        ) from problem
    return event


@lru_cache(maxsize=1)
def _kept_tags() -> frozenset[bytes]:
    return frozenset(str(tag_of(kind)).encode() for kind in KEPT)


def _step(event: kinds.Step) -> int:
    return event.step


def _course(trace: Trace, seen: frozenset[bytes]) -> Hashable:
    """Return what happened on a rank without steps, numbers and names that differ between ranks that fared alike."""
    facts = [fact for event in trace.events for fact in _facts(event)]
    return seen, frozenset(facts[:MOST_COMPARED])


def _facts(event: kinds.Event) -> Iterator[Hashable]:
    if isinstance(event, kinds.Alarm):
        yield "alarm", event.what, event.withheld, all(map(is_finite, event.losses))
    elif isinstance(event, kinds.Birth):
        yield "birth", event.kind, event.op, event.origin, _line(event.location)
    elif isinstance(event, (Crash, kinds.ExceptionSeen)):
        message = VARYING.sub("#", event.message)
        yield type(event).__name__, event.type, message, event.caught, _line(event.location)
    elif isinstance(event, kinds.Replayed):
        yield "replayed", event.how, event.reproduced
    elif isinstance(event, kinds.ProbeFailed):
        yield "probe", event.probe
    elif isinstance(event, kinds.RunEnded):
        yield "end", event.stopped_by_us


def _line(place: SourceSpan | None) -> Hashable:
    return None if place is None else (place.file, place.line)
