"""What stands in for torch's own attributes while we watch.

Looking such an attribute up is the event: the stand-in notes it, finishes, and hands out the original, so the call
itself is made by the program's own frame and no traceback shows one of ours. `native` makes the same ones in C.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

from torchwhy.observe.torch_features.interpreter import frame_at


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
    """Every assignment to the attribute is passed through `change` first, with the frame that makes it.

    It has no `__get__`, so reading the attribute finds it in the instance at Python's own speed.
    """

    def __init__(self, name: str, change: Callable[[Any, Any, FrameType], Any]) -> None:
        self.name = name
        self.change = change

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.name] = self.change(instance, value, frame_at(1))

    def __delete__(self, instance: Any) -> None:
        instance.__dict__.pop(self.name, None)


class NotedEngine:
    """Stands in for torch's engine: looking up `run_backward` notes the variables of the frame that does."""

    def __init__(self, engine: Any, note: Callable[[Any], object]) -> None:
        self.__dict__["original"] = engine
        self.__dict__["_note"] = note

    @property
    def run_backward(self) -> Any:
        """Note what is about to be differentiated and return the engine's own method."""
        self._note(frame_at(1).f_locals)
        return self.original.run_backward

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


class Read(NotedOnAccess):
    """A way to read a number; Adam alone reads one per parameter and step, which is its own affair."""

    def __init__(self, original: Any, note: Callable[[Any], object], sentinel: Any) -> None:
        super().__init__(original, note)
        self._bind = original.__get__
        self._sentinel = sentinel

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is not None and not self._sentinel.in_update:
            self.note(instance)
        return self._bind(instance, owner)


class Forward(NotedOnAccess):
    """Stands in for a class's `forward`: looking it up on a watched model notes the model, on others nothing."""

    def __init__(
        self, original: Any, note: Callable[[Any, FrameType], object], models: dict[int, str]
    ) -> None:
        super().__init__(original, note)  # type: ignore[arg-type]
        self._note = note
        self._models = models

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if id(instance) in self._models:
            self._note(instance, frame_at(1))
        return self.original.__get__(instance, owner)


def index_note(note: Callable[[Any], object]) -> Callable[[Any], Any]:
    """Return a function that notes what it is given and hands it on."""

    def noted(index: Any) -> Any:
        note(index)
        return index

    return noted


class Descriptors:
    """Makes the stand-ins that a step meets, here in Python."""

    engine: Callable[..., Any] = staticmethod(NotedEngine)
    read: Callable[..., Any] = staticmethod(Read)
    forward: Callable[..., Any] = staticmethod(Forward)
    assigned: Callable[..., Any] = staticmethod(NotedOnChange)
    index_note: Callable[..., Any] = staticmethod(index_note)
    before_step: Callable[..., Any]
    after_step: Callable[..., Any]

    def __init__(self, before_step: Callable[..., Any], after_step: Callable[..., Any]) -> None:
        self.before_step = before_step
        self.after_step = after_step
