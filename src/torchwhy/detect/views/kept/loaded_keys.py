"""By which part the names of a loaded state differ from those of a model."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Difference(NamedTuple):
    """The side whose names have a part too much, and the part: `module.`."""

    where: Literal["state", "model"] | None
    part: str


def difference_of(given: list[str], wanted: list[str]) -> Difference | None:
    """Return the leading part without which most names of one side are those of the other."""
    for where, longer, shorter in (("state", given, wanted), ("model", wanted, given)):
        for part in dict.fromkeys(lead for name in longer for lead in _leads(name)):
            cut = {name.removeprefix(part) for name in longer if name.startswith(part)}
            if 2 * len(cut & set(shorter)) > min(len(longer), len(shorter)):
                return Difference("state" if where == "state" else "model", part)
    return None


def _leads(name: str) -> list[str]:
    """Return `a.`, `a.b.` for `a.b.c`."""
    parts = name.split(".")
    return [".".join(parts[:count]) + "." for count in range(1, len(parts))]
