"""Find every detector: those in causes/, then those of other packages (entry point group `torchwhy.detectors`).

A family whose causes all start from certain events says so in its `__init__.py` (`STARTS_FROM`); it is not imported
for a run without them. A healthy run has no crash and no birth, and half of all causes are about these.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from types import GenericAlias

from torchwhy.detect import causes
from torchwhy.detect.base import Detector
from torchwhy.detect.foreign_causes import entry_points
from torchwhy.record.event import Event
from torchwhy.record.trace import Trace

# Modules that could not be imported, and why; the report lists them in its notes.
failures: dict[str, str] = {}


def all_detectors() -> dict[str, type[Detector]]:
    """Return every detector class by name, sorted by name."""
    return _detectors_of(_families())


def detectors_for(traces: Sequence[Trace]) -> dict[str, type[Detector]]:
    """Return the detectors that can find something in these traces, sorted by name."""
    kinds = {type(event) for trace in traces for event in _events(trace)}
    awake = [one for one in _families() if _is_awake(one, kinds)]
    return _detectors_of(tuple(awake))


@cache
def _families() -> tuple[str, ...]:
    found = pkgutil.iter_modules(causes.__path__, causes.__name__ + ".")
    return tuple(one.name for one in found if one.ispkg)


def _events(trace: Trace) -> Iterator[Event]:
    yield from trace.events
    if trace.rerun is not None:
        yield from trace.rerun.events


def _is_awake(family: str, kinds: set[type[Event]]) -> bool:
    starts_from = getattr(importlib.import_module(family), "STARTS_FROM", None)
    return starts_from is None or not kinds.isdisjoint(starts_from)


@lru_cache(maxsize=64)  # which families are awake differs from run to run
def _detectors_of(families: tuple[str, ...]) -> dict[str, type[Detector]]:
    found: dict[str, type[Detector]] = {}
    failures.clear()
    for family in families:
        found |= _in_family(family)
    for entry_point in entry_points("torchwhy.detectors"):
        try:
            foreign = entry_point.load()
        except Exception as problem:
            failures[entry_point.value] = f"{type(problem).__name__}: {problem}"
            continue
        found[foreign.name] = foreign
    return dict(sorted(found.items()))


def _in_family(family: str) -> dict[str, type[Detector]]:
    found: dict[str, type[Detector]] = {}
    package = importlib.import_module(family)
    for module_info in pkgutil.walk_packages(package.__path__, family + "."):
        try:
            module = importlib.import_module(module_info.name)
        except Exception as problem:
            failures[module_info.name] = f"{type(problem).__name__}: {problem}"
            continue
        for candidate in vars(module).values():
            if _is_detector_of(candidate, module.__name__):
                found[candidate.name] = candidate
    return found


def _is_detector_of(candidate: object, module_name: str) -> bool:
    return (
        isinstance(candidate, type)
        and not isinstance(
            candidate, GenericAlias
        )  # In Python 3.10 `list[int]` is an instance of type.
        and candidate.__module__ == module_name
        and Detector in candidate.__mro__  # `issubclass` asks every subclass of an abstract class
        and not inspect.isabstract(candidate)
    )
