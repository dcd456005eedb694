"""Notice that a method is about to be called, without a frame of ours in anybody's traceback.

A descriptor on the class runs a note when the method is looked up, finishes, and hands out the original;
the call itself is then made by the program's own frame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class NotedOnAccess:
    """Stands in for a function in a class: looking it up on an instance notes the instance."""

    def __init__(self, original: Any, note: Callable[[Any], object]) -> None:
        self.original = original
        self.note = note

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is not None:
            self.note(instance)
        return self.original.__get__(instance, owner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


class NotedOnChange:
    """Every assignment to the attribute is passed through `change` first.

    It has no `__get__`, so reading the attribute finds it in the instance at Python's own speed.
    """

    def __init__(self, name: str, change: Callable[[Any, Any], Any]) -> None:
        self.name = name
        self.change = change

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.name] = self.change(instance, value)

    def __delete__(self, instance: Any) -> None:
        instance.__dict__.pop(self.name, None)
