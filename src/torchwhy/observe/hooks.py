"""Puts every hook on torch and takes it off again; what was there before is what is there after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_ABSENT = object()


class Hooks:
    """A list of undo steps, run in reverse by `remove_all`."""

    def __init__(self) -> None:
        self._undo: list[tuple[str, Callable[[], object]]] = []

    def replace(self, holder: Any, name: str, value: Any, *, group: str = "") -> Any:
        """Set `holder.name = value`, remember how to undo it, return what was there."""
        own = vars(holder).get(name, _ABSENT)
        before = getattr(holder, name, None)
        setattr(holder, name, value)
        if own is _ABSENT:
            self._undo.append((group, lambda: delattr(holder, name)))
        else:
            self._undo.append((group, lambda: setattr(holder, name, own)))
        return own if own is not _ABSENT else before

    def add(self, undo: Callable[[], object], *, group: str = "") -> None:
        """Remember another undo step."""
        self._undo.append((group, undo))

    def remove_group(self, group: str) -> None:
        """Undo only what was put on under `group`."""
        for entry in [e for e in reversed(self._undo) if e[0] == group]:
            entry[1]()
            self._undo.remove(entry)

    def __len__(self) -> int:
        return len(self._undo)

    def remove_after(self, count: int) -> None:
        """Undo what was put on after the first `count` steps, last first."""
        while len(self._undo) > count:
            self._undo.pop()[1]()

    def remove_all(self) -> None:
        """Undo everything, last first."""
        self.remove_after(0)
