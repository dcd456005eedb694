"""The text of a program as lines with roles, so that a fault can find `the backward pass` whatever it is called."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

NAME = re.compile(r"\$(\w+)")
STEP = "    "


@dataclass(frozen=True)
class Line:
    """One line: its text without indentation, how deep it stands, and what it is for."""

    text: str
    role: str = ""
    depth: int = 0


@dataclass(frozen=True)
class Script:
    """A program as lines. `$model` in a line stands for the name that this program gives its model."""

    lines: tuple[Line, ...]

    def has(self, role: str) -> bool:
        """Tell whether a line has the role."""
        return any(line.role == role for line in self.lines)

    def first(self, role: str) -> Line:
        """Return the first line with the role."""
        return next(line for line in self.lines if line.role == role)

    def number(self, role: str) -> int:
        """Return the number of the first line with the role, as editors count."""
        return next(n for n, line in enumerate(self.lines, start=1) if line.role == role)

    def without(self, role: str) -> Script:
        """Remove the lines with the role; a block that is left empty gets a `pass`."""
        kept = [line for line in self.lines if line.role != role]
        filled: list[Line] = []
        for line, following in zip(kept, [*kept[1:], Line("")], strict=True):
            filled.append(line)
            if line.text.endswith(":") and following.depth <= line.depth:
                filled.append(Line("pass", depth=line.depth + 1))
        return Script(tuple(filled))

    def change(
        self, role: str, edit: Callable[[str], str], *, becomes: str | None = None
    ) -> Script:
        """Rewrite the text of the lines with the role."""
        return Script(
            tuple(
                replace(line, text=edit(line.text), role=becomes or role)
                if line.role == role
                else line
                for line in self.lines
            )
        )

    def after(self, role: str, *texts: str, new_role: str = "") -> Script:
        """Add lines behind the last line with the role, equally deep."""
        place = max(n for n, line in enumerate(self.lines) if line.role == role)
        depth = self.lines[place].depth
        return self._insert(place + 1, (Line(text, new_role, depth) for text in texts))

    def before(self, role: str, *texts: str, new_role: str = "") -> Script:
        """Add lines before the first line with the role, equally deep."""
        place = self.number(role) - 1
        depth = self.lines[place].depth
        return self._insert(place, (Line(text, new_role, depth) for text in texts))

    def swap(self, one: str, other: str) -> Script:
        """Exchange two lines; each keeps the depth of its new place."""
        a, b = self.number(one) - 1, self.number(other) - 1
        lines = list(self.lines)
        lines[a], lines[b] = (
            replace(lines[b], depth=lines[a].depth),
            replace(lines[a], depth=lines[b].depth),
        )
        return Script(tuple(lines))

    def _insert(self, place: int, added: Iterable[Line]) -> Script:
        return Script((*self.lines[:place], *added, *self.lines[place:]))

    def render(self, names: dict[str, str]) -> str:
        """Return the program as a file holds it."""
        text = "\n".join(f"{STEP * line.depth}{line.text}".rstrip() for line in self.lines)
        return NAME.sub(lambda found: names[found[1]], text) + "\n"


class Writer:
    """Collects lines one after another."""

    def __init__(self) -> None:
        self._lines: list[Line] = []

    def add(self, text: str, role: str = "", *, depth: int = 0) -> None:
        """Add lines; further ones of a text with several have no role."""
        for number, one in enumerate(text.splitlines() or [""]):
            inner = len(one) - len(one.lstrip(" "))
            self._lines.append(
                Line(one.lstrip(" "), role if number == 0 else "", depth + inner // len(STEP))
            )

    def include(self, lines: Iterable[Line], *, depth: int = 0) -> None:
        """Add finished lines, deeper by so much."""
        self._lines += [replace(line, depth=line.depth + depth) for line in lines]

    @property
    def lines(self) -> tuple[Line, ...]:
        """Return what was collected."""
        return tuple(self._lines)

    def done(self) -> Script:
        """Return the whole."""
        return Script(self.lines)
