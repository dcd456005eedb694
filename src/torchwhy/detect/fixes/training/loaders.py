"""Edits of the calls that make loaders."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.finding import Fix, SourceSpan
from torchwhy.source.calls import keyword
from torchwhy.source.edits import Edit, Source

LOADER = "DataLoader"
SHUFFLE_POSITION = 2  # of `shuffle` among the arguments of DataLoader


def shuffled(place: SourceSpan | None, source: Source) -> Iterator[Fix]:
    """Yield `shuffle=True` in the call that makes a loader."""
    call = next(
        (one for one in source.calls(LOADER) if place is not None and one.lineno == place.line),
        None,
    )
    if call is None or keyword(call, "sampler", "batch_sampler") is not None:
        return
    given = keyword(call, "shuffle")
    if given is None and len(call.args) > SHUFFLE_POSITION:
        given = call.args[SHUFFLE_POSITION]
    if given is not None:
        edit = source.replace(given, "True")
    else:
        last = [*call.args, *(one.value for one in call.keywords)][-1:]
        if not last:
            return
        end = source.stretch(last[0])[1]
        edit = Edit(end, end, ", shuffle=True")
    yield from source.fix("shuffle the training data: shuffle=True", edit)
