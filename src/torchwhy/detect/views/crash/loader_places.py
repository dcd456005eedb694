"""Where the program makes the DataLoader whose batch an exception is about."""

from __future__ import annotations

from torchwhy.detect.views.crash.crash_view import CrashView
from torchwhy.detect.views.inputs.loaders_seen import LOADER, loader_named_at
from torchwhy.finding import SourceSpan
from torchwhy.source.analyses.constructors import only_call
from torchwhy.source.edits import Source


def loader_of_batch(crash: CrashView) -> SourceSpan | None:
    """Return the `DataLoader(…)` of the current batch, or the only one in the program."""
    loader = crash.event.loader
    if loader is None:
        return None
    return _drawn_by(crash, loader.location) or only_call(_files(crash), LOADER)


def loader_at_work(crash: CrashView) -> SourceSpan | None:
    """Return the `DataLoader(…)` that raised while it built a batch; None if a function of the program raised."""
    return _drawn_by(crash, crash.event.location)


def _drawn_by(crash: CrashView, place: SourceSpan | None) -> SourceSpan | None:
    """Return the one DataLoader that the statement at a place makes or names."""
    return None if place is None else loader_named_at(crash.trace.files, place)


def _files(crash: CrashView) -> list[Source]:
    return list(crash.trace.files.values())
