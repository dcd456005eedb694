"""Descriptors that replace attributes of torch while we watch.

The lookup of such an attribute is the event: the descriptor notes it and returns the original, so that the program's
own frame makes the call and no traceback shows one of ours. `native` has the same descriptors in C.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

from torchwhy.observe.torch_features.compiler import uncompiled
from torchwhy.observe.torch_features.interpreter import frame_at


class NotedOnAccess:
    """Replaces a function of a class: its lookup on an instance notes the instance."""

    def __init__(self, original: Any, note: Callable[[Any], object]) -> None:
        self.original = original
        self.note = note

    @uncompiled
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is not None:
            self.note(instance)
        return self.original.__get__(instance, owner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


class NotedOnChange:
    """Passes every assignment to the attribute through `change`, with the frame that makes it.

    Without a `__get__`, reading the attribute finds it in the instance at Python's own speed.
    """

    def __init__(self, name: str, change: Callable[[Any, Any, FrameType], Any]) -> None:
        self.name = name
        self.change = change

    @uncompiled
    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.name] = self.change(instance, value, frame_at(1))

    def __delete__(self, instance: Any) -> None:
        try:
            del instance.__dict__[self.name]
        except KeyError:
            raise AttributeError(self.name) from None


class NotedEngine:
    """Replaces torch's engine: the lookup of `run_backward` notes the variables of the calling frame."""

    def __init__(self, engine: Any, note: Callable[[Any], object]) -> None:
        self.__dict__["original"] = engine
        self.__dict__["_note"] = note

    @property
    @uncompiled
    def run_backward(self) -> Any:
        """Note what is about to be differentiated and return the engine's own method."""
        self._note(frame_at(1).f_locals)
        return self.original.run_backward

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


class Read(NotedOnAccess):
    """Replaces a method that reads a number; ignores the optimizer, which reads one per parameter and step."""

    def __init__(self, original: Any, note: Callable[[Any], object], state: Any) -> None:
        super().__init__(original, note)
        self._bind = original.__get__
        self._state = state

    @uncompiled
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is not None and not self._state.in_update:
            self.note(instance)
        return self._bind(instance, owner)


class Forward(NotedOnAccess):
    """Replaces the `forward` of a class: its lookup on a watched model notes the model."""

    def __init__(
        self, original: Any, note: Callable[[Any, FrameType], object], models: dict[int, str]
    ) -> None:
        super().__init__(original, note)  # type: ignore[arg-type]
        self._note = note
        self._models = models

    @uncompiled
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if id(instance) in self._models:
            self._note(instance, frame_at(1))
        return self.original.__get__(instance, owner)


def index_note(note: Callable[[Any], object]) -> Callable[[Any], Any]:
    """Return a function that notes its argument and returns it."""

    @uncompiled
    def noted(index: Any) -> Any:
        note(index)
        return index

    return noted


class Descriptors:
    """Makes the descriptors that a step meets, here in Python."""

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
