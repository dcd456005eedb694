"""Snapshots of what the program holds, with the places where suspect variables are grown, emptied and read."""

from __future__ import annotations

import msgspec

from torchwhy.detect.views.memory.growth_places import Places, places_of
from torchwhy.record.learning import Held, Holdings, RunningFrame
from torchwhy.record.trace import Trace
from torchwhy.source.analyses.variable_uses import Variable
from torchwhy.source.edits import Source

Files = dict[str, Source]


def holdings(trace: Trace) -> list[Holdings]:
    """Return the snapshots, oldest first; a place found once holds for the later snapshots, too."""
    known: dict[tuple[str, str | None], Places] = {}
    snapshots = []
    for snapshot in trace.of(Holdings):
        held = []
        for one in snapshot.held:
            if not one.is_suspect:
                held.append(one)
                continue
            key = (one.name, one.function)
            if snapshot.moment == "collect" and snapshot.frames:
                places = _places(one, snapshot.frames, trace.files, at_call=True)
            elif known.get(key, Places()).grown_at is None:
                places = known[key] = _places(one, snapshot.frames, trace.files)
            else:
                places = known[key]
            held.append(msgspec.structs.replace(one, **vars(places)))
        snapshots.append(msgspec.structs.replace(snapshot, held=held))
    return snapshots


def _places(
    held: Held, frames: list[RunningFrame], files: Files, *, at_call: bool = False
) -> Places:
    running = tuple((files[frame.file], frame.line) for frame in frames if frame.file in files)
    own = [files[held.file]] if held.file in files else []
    is_local = held.first_line is not None and "." not in held.name
    others = [] if is_local else [one for one in files.values() if one not in own]
    variable = Variable(
        held.name,
        (*own, *others),
        line=held.first_line,
        called_in_loop=_is_called_in_loop(held, frames, files),
        running=running,
    )
    is_known = at_call and frames[0].file in files
    return places_of(variable, call=running[0] if is_known else None)


def _is_called_in_loop(held: Held, frames: list[RunningFrame], files: Files) -> bool:
    """Tell whether a running loop calls the function of a variable."""
    outer = False
    for frame in frames:
        if outer and _is_in_loop(frame, files):
            return True
        outer = outer or (frame.file, frame.first_line) == (held.file, held.first_line)
    return False


def _is_in_loop(frame: RunningFrame, files: Files) -> bool:
    source = files.get(frame.file)
    return source is not None and any(
        loop.lineno < frame.line <= (loop.end_lineno or 0)
        and source.function_name(loop) == frame.function
        for loop in source.loops()
    )
