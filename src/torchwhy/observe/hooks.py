"""Puts every hook on torch and takes it off again; what was there before is what is there after."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from torchwhy.plain_data import dataclass

_ABSENT = object()


class _Undo(NamedTuple):
    group: str
    stays: bool
    undo: Callable[[], object]


@dataclass(eq=False)
class _Replacement:
    holder: Any
    name: str
    value: Any
    own: Any  # what the holder itself had before, if anything

    @property
    def is_current(self) -> bool:
        """Tell whether nothing was put on top of it since."""
        return vars(self.holder).get(self.name, _ABSENT) is self.value

    def is_below(self, other: _Replacement) -> bool:
        """Tell whether another one was put on top of this one."""
        same = other.holder is self.holder and other.name == self.name
        return same and other.own is self.value

    def put_back(self) -> None:
        if self.own is _ABSENT:
            delattr(self.holder, self.name)
        else:
            setattr(self.holder, self.name, self.own)


class Hooks:
    """A list of undo steps, run in reverse by `remove_all`.

    What the program itself put on top of a hook, as other tools do with `sys.excepthook`, stays when the hook goes.

    Torch's compiler traces whatever a program calls, so all hooks go when a program first enters it, except those that
    declare that they may `stay`: the compiler never comes across them. None is put on after that.
    """

    def __init__(self) -> None:
        self._undo: list[_Undo] = []
        self._replacements: list[_Replacement] = []
        self.are_barred = False
        self.stand_ins: dict[
            int, tuple[Any, Any]
        ] = {}  # functions with their originals, by identity

    def replace(
        self, holder: Any, name: str, value: Any, *, group: str = "", stays: bool = False
    ) -> Any:
        """Set `holder.name = value`, remember how to undo it, return what was there."""
        own = vars(holder).get(name, _ABSENT)
        before = getattr(holder, name, None)
        if not self.are_barred or stays:
            setattr(holder, name, value)
            replacement = _Replacement(holder, name, value, own)
            self._replacements.append(replacement)
            self.add(partial(self._take_off, replacement), group=group, stays=stays)
        return own if own is not _ABSENT else before

    def replace_unseen(self, holder: Any, name: str, value: Any) -> Any:
        """Replace something that the compiler never comes across."""
        return self.replace(holder, name, value, stays=True)

    def replace_function(self, module: Any, name: str, value: Any, *, group: str = "") -> None:
        """Replace a function that the program may import by its name."""
        self.stand_ins[id(value)] = (value, getattr(module, name))
        self.replace(module, name, value, group=group)

    def add(self, undo: Callable[[], object], *, group: str = "", stays: bool = False) -> None:
        """Remember another undo step."""
        self._undo.append(_Undo(group, stays, undo))

    def remove_group(self, group: str) -> None:
        """Undo only what was put on under `group`."""
        self._remove([entry for entry in self._undo if entry.group == group])

    def bar(self) -> None:
        """Undo what may not stay, and put on no more of that kind."""
        self.are_barred = True
        self._remove([entry for entry in self._undo if not entry.stays])

    def _remove(self, entries: list[_Undo]) -> None:
        for entry in reversed(entries):
            entry.undo()
            self._undo.remove(entry)

    def _take_off(self, replacement: _Replacement) -> None:
        self._replacements.remove(replacement)
        if replacement.is_current:
            replacement.put_back()
            return
        for other in self._replacements:
            if replacement.is_below(other):
                other.own = replacement.own

    def __len__(self) -> int:
        return len(self._undo)

    def remove_after(self, count: int) -> None:
        """Undo what was put on after the first `count` steps, last first."""
        while len(self._undo) > count:
            self._undo.pop().undo()

    def remove_all(self) -> None:
        """Undo everything, last first."""
        self.remove_after(0)
