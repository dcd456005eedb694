"""Small pieces of Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence

FENCE = re.compile(r"^(?P<ticks>```+)(?P<info>.*)\n(?P<body>(?:.*\n)*?)(?P=ticks)$", re.MULTILINE)


def fence(body: str, info: str) -> str:
    """Return a block of code; its fence is longer than any inside it."""
    longest = max((len(ticks) for ticks in re.findall(r"^`{3,}", body, re.MULTILINE)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{info}\n{body.rstrip()}\n{ticks}\n"


def folded(title: str, body: str) -> str:
    """Return a block that opens by a click on its title."""
    return f'??? example "{title.replace(chr(34), chr(39))}"\n\n{textwrap.indent(body.rstrip(), "    ")}\n'


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells may hold any inline Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    """Return a cell on one line; a bar outside of code would begin the next cell."""
    parts = " ".join(text.split()).split("`")
    return "`".join(
        one if number % 2 else one.replace("|", "&#124;") for number, one in enumerate(parts)
    )


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """Return a text with everything but its blocks of code changed."""
    parts, done = [], 0
    for block in FENCE.finditer(text):
        parts += [change(text[done : block.start()]), block[0]]
        done = block.end()
    return "".join([*parts, change(text[done:])])
