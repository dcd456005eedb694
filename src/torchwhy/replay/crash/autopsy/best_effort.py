"""One part of an autopsy that fails must not cost the others: its failure is noted and the rest goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

LONGEST_REASON = 200


class BestEffort:
    """Runs parts and keeps why some of them failed, by the name of the part."""

    def __init__(self) -> None:
        self.failures: dict[str, str] = {}

    def get(
        self,
        otherwise: Result,
        part: Callable[Given, Result],
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> Result:
        """Return what a part gives; `otherwise` if it fails."""
        try:
            return part(*args, **kwargs)
        except Exception as problem:
            self.failures[f"failed {part.__name__}"] = repr(problem)[:LONGEST_REASON]
            return otherwise
