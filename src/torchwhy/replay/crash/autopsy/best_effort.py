"""Runs the parts of an autopsy so that the failure of one is noted and costs no other."""

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
        """Return the result of a part, `otherwise` if it fails."""
        try:
            return part(*args, **kwargs)
        except Exception as problem:
            self.failures[f"failed {part.__name__}"] = repr(problem)[:LONGEST_REASON]
            return otherwise
