"""Values by the identity of objects of the program, which are not kept alive."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")
FEWEST = 16  # entries, below which those of dead objects are not looked for


class WeakTable(Generic[Value]):
    """Runs no code when an object dies, as a `WeakKeyDictionary` does: compiled code may be what lets go of it."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], Value]] = {}
        self._most = FEWEST

    def get(self, key: Any) -> Value | None:
        """Return the value of an object, None if it has none."""
        known = self._entries.get(id(key))
        return known[1] if known is not None and known[0]() is key else None

    def __contains__(self, key: Any) -> bool:
        known = self._entries.get(id(key))
        return known is not None and known[0]() is key

    def __setitem__(self, key: Any, value: Value) -> None:
        if len(self._entries) >= self._most:
            self._entries = {k: one for k, one in self._entries.items() if one[0]() is not None}
            self._most = max(FEWEST, 2 * len(self._entries))
        self._entries[id(key)] = (weakref.ref(key), value)
