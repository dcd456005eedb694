"""The lines that say where every process stands, ranks at the same place together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from torchwhy.detect.hangs.parting import parting_of
from torchwhy.detect.hangs.standing_places import (
    Place,
    place_of,
    shown,
    statement_at,
    worker_frames,
)
from torchwhy.record.standing.standstill import Standstill

MOST_PLACES = 8  # so that a standstill of many ranks fits on a screen
MOST_WORKERS = 3


def lines_of(standstill: Standstill, places: Sequence[Place]) -> Iterator[str]:
    """Yield one line for each place at which processes stand, and one for where they part."""
    newest = max((one.number or 0 for one in places), default=0)
    told = [(_what(one, standstill, newest=newest), one) for one in places]
    if all(one.doing == "launches" for one in places):
        yield "no process that the launcher started has imported torch yet"
    told.sort(key=lambda pair: (pair[0], pair[1].rank or 0))
    groups = [(what, [one for _, one in same]) for what, same in groupby(told, lambda p: p[0])]
    groups.sort(key=lambda group: (group[1][0].rank is None, group[1][0].rank or 0))
    for what, same in groups[:MOST_PLACES]:
        if same[0].doing != "launches":
            are_several = len(same) > 1
            words = _what(same[0], standstill, newest=newest, plural=True) if are_several else what
            yield f"{_who(same)} {words}"
    if len(groups) > MOST_PLACES:
        yield f"{len(groups) - MOST_PLACES} more places are in hang.json"
    yield from _parting_line(standstill, places)
    yield from _worker_lines(standstill)


def _who(same: list[Place]) -> str:
    ranks = [str(one.rank) for one in same if one.rank is not None]
    if not ranks:
        return same[0].who
    more = f" and {len(ranks) - MOST_PLACES} more" if len(ranks) > MOST_PLACES else ""
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(ranks[:MOST_PLACES])}{more}"


def _what(place: Place, standstill: Standstill, *, newest: int, plural: bool = False) -> str:
    """Return what a process does; `plural` for several that do the same."""
    s, has = ("", "have") if plural else ("s", "has")
    statement = f": `{place.statement}`" if place.statement else ""
    seconds = f"{standstill.seconds:.0f} s"
    behind = ""
    if place.rank is not None and place.number is None and place.made < newest:
        behind = f"; {has} not called collective {newest}"
    match place.doing:
        case "ended":
            return f"{has} ended"
        case "collective":
            number = f", collective number {place.number}" if place.number else ""
            return f"wait{s} in `{place.called}` {place.where}{number}, for about {seconds}"
        case "input":
            return f"wait{s} for input {place.where}{statement}{behind}"
        case "loader":
            return f"wait{s} for a batch of the loader {place.where}{statement}{behind}"
        case "backward":
            return f"stand{s} in a backward pass {place.where}{statement}{behind}"
        case "works":
            return f"work{s} {place.where}{statement}{behind}"
        case _:
            return f"stand{s} still {place.where}{statement}{behind}"


def _parting_line(standstill: Standstill, places: Sequence[Place]) -> Iterator[str]:
    """Yield where the rank that waits in a collective and one that has not called it part."""
    pairs = list(zip(standstill.processes, places, strict=True))
    waiting = [pair for pair in pairs if pair[1].doing == "collective"]
    for standing, place in waiting:
        for other, theirs in pairs:
            if other is standing or theirs.rank is None or theirs.doing == "ended":
                continue
            if (theirs.at, theirs.number) == (place.at, place.number):
                continue
            parting = parting_of(standing, other, standstill)
            if parting is not None:
                at = f"{shown(parting.file, standstill)}:{parting.line}"
                yield f"they part at `{parting.text}`, {at}"
                return


def _worker_lines(standstill: Standstill) -> Iterator[str]:
    for standing in standstill.processes:
        who = place_of(standing, standstill).who
        for worker in standing.workers[:MOST_WORKERS]:
            users = worker_frames(worker.frames)
            if users:
                at = f"{shown(users[0].file, standstill)}:{users[0].line} in {users[0].function}"
                text = statement_at(users[0], standstill)
                statement = f": `{text}`" if text else ""
                yield f"process {worker.pid}, started by {who}, is at {at}{statement}"
        if standing.lost_workers:
            count = standing.lost_workers
            yield f"{count} process{'es' * (count > 1)} started by {who} ended, which it has not noticed"
