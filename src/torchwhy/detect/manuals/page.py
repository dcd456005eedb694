"""Read a cause's manual page: the Markdown file beside its module.

Broken, Repaired and Lookalike hold whole programs in ```python fences. A repaired program may also be a ```diff fence:
its first line `--- broken 2` names the second broken program of the page, `@@` begins a hunk, and the lines of a hunk
that start with a space or `-` must occur in that program, without its marks, exactly once.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from torchwhy.plain_data import dataclass

FENCE = re.compile(r"^```(?P<language>python|diff)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
DIFF_HEAD = re.compile(r"--- broken (?P<number>\d+)\n@@\n")


class ManualError(ValueError):
    """A manual page breaks the rules above."""


@dataclass(frozen=True)
class Program:
    """One documented program: `section` is broken, repaired or lookalike."""

    detector: str
    section: str
    number: int
    text: str

    @property
    def marked_line(self) -> int | None:
        """Return the line that ends in `# <- name`, counted from 1."""
        for number, line in enumerate(self.text.splitlines(), start=1):
            if line.rstrip().endswith(f"# <- {self.detector}"):
                return number
        return None


@dataclass(frozen=True)
class Manual:
    """A manual page: `text` is the whole file, `sections` the body under each `## ` title, in order."""

    name: str
    text: str
    summary: str
    sections: dict[str, str]

    def programs(self) -> list[Program]:
        """Return the documented programs, in order; `number` counts from 0 within a section."""
        found: list[Program] = []
        for title, body in self.sections.items():
            broken = [program.text for program in found if program.section == "broken"]
            section = title.lower()
            found += [
                Program(self.name, section, number, self._text_of(fence, broken))
                for number, fence in enumerate(FENCE.finditer(body))
            ]
        return found

    def _text_of(self, fence: re.Match[str], broken: list[str]) -> str:
        body = textwrap.dedent(fence["body"])
        if fence["language"] == "python":
            return body
        head = DIFF_HEAD.match(body)
        if head is None or not 1 <= int(head["number"]) <= len(broken):
            raise ManualError(
                f"{self.name}: a diff starts with `--- broken N` and `@@`, and N is the number of"
                f" a broken program of the page, from 1: {body.partition(chr(10))[0]!r}"
            )
        base = without_marks(broken[int(head["number"]) - 1], self.name)
        try:
            return apply_hunks(base, body[head.end() :])
        except ManualError as problem:
            raise ManualError(f"{self.name}: {problem}") from None


def parse(text: str) -> Manual:
    """Return a page split into its name, its one-sentence summary and its sections."""
    head, *rest = re.split(r"^## +(.+)\n", text, flags=re.MULTILINE)
    title, _, summary = head.strip().partition("\n")
    sections = {
        name.strip(): body.strip("\n") for name, body in zip(rest[::2], rest[1::2], strict=True)
    }
    return Manual(title.removeprefix("# ").strip(), text, summary.strip(), sections)


@cache
def manual_of(detector: type) -> Manual:
    """Return the manual page beside the module that defines a detector.

    If a detector of another package has none, its page is its name and the first line of its docstring.
    """
    path = Path(inspect.getfile(detector)).with_suffix(".md")
    if path.exists():
        return parse(path.read_text(encoding="utf8"))
    name = str(getattr(detector, "name", detector.__name__))
    return parse(f"# {name}\n\n{(inspect.getdoc(detector) or '').partition(chr(10))[0]}\n")


def without_marks(text: str, name: str) -> str:
    """Return a broken program without the comments that mark the line at fault."""
    return re.sub(rf"[ \t]*# <- {re.escape(name)}[ \t]*$", "", text, flags=re.MULTILINE)


def apply_hunks(base: str, hunks: str) -> str:
    """Return the program that the hunks make of `base`; raise `ManualError` if one does not fit.

    The search for each hunk starts at the end of the one before it.
    """
    lines, result, done = base.splitlines(), [], 0
    for hunk in re.split(r"^@@\n", hunks, flags=re.MULTILINE):
        old, new = _sides(hunk)
        places = list(_occurrences(old, lines, start=done))
        if len(places) != 1:
            raise ManualError(f"the hunk fits at {len(places)} places of the program:\n{hunk}")
        result += [*lines[done : places[0]], *new]
        done = places[0] + len(old)
    return "\n".join([*result, *lines[done:]]) + "\n"


def _sides(hunk: str) -> tuple[list[str], list[str]]:
    old, new = [], []
    for line in hunk.splitlines():
        sign, rest = line[:1] or " ", line[1:]  # An editor may strip the space of an empty line.
        if sign not in " +-":
            raise ManualError(f"a line of a hunk starts with a space, `+` or `-`: {line!r}")
        if sign != "+":
            old.append(rest)
        if sign != "-":
            new.append(rest)
    return old, new


def _occurrences(wanted: list[str], lines: list[str], *, start: int) -> Iterator[int]:
    if not wanted:
        return
    for place in range(start, len(lines) - len(wanted) + 1):
        if lines[place : place + len(wanted)] == wanted:
            yield place
