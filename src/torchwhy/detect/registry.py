"""Find every detector: those in causes/, then those of other packages (entry point group `torchwhy.detectors`)."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import lru_cache
from importlib import metadata
from types import GenericAlias

from torchwhy.detect import causes
from torchwhy.detect.base import Detector

# Modules that could not be imported, and why; the report lists them in its notes.
failures: dict[str, str] = {}


@lru_cache(maxsize=1)
def all_detectors() -> dict[str, type[Detector]]:
    """Return every detector class by name, sorted by name."""
    found: dict[str, type[Detector]] = {}
    failures.clear()
    for module_info in pkgutil.walk_packages(causes.__path__, causes.__name__ + "."):
        try:
            module = importlib.import_module(module_info.name)
        except Exception as problem:
            failures[module_info.name] = f"{type(problem).__name__}: {problem}"
            continue
        for candidate in vars(module).values():
            if _is_detector_of(candidate, module.__name__):
                found[candidate.name] = candidate
    for entry_point in metadata.entry_points(group="torchwhy.detectors"):
        try:
            foreign = entry_point.load()
        except Exception as problem:
            failures[entry_point.value] = f"{type(problem).__name__}: {problem}"
            continue
        found[foreign.name] = foreign
    return dict(sorted(found.items()))


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
