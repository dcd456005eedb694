"""What a detector is: a name, what it needs recorded, and a pure function from a trace to findings.

Its docstring is its manual page. The sections Broken, Repaired and Lookalike hold whole programs, which the
tests run: Broken must give exactly the line that ends in `# <- name` as root cause, the others must be silent.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torchwhy.detect.edits import Source
from torchwhy.finding import Finding, Fix
from torchwhy.record.trace import Trace


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


class Detector(ABC):
    """One cause. Subclasses live one per file in causes/<family>/, and are found there."""

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset()
    every_phase: ClassVar[bool] = (
        False  # it reads one look, and is asked about each: `detect/phases.py`
    )

    @abstractmethod
    def scan(self, trace: Trace) -> Iterator[Finding]:
        """Yield what is wrong in this trace, in the program's own words."""

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:  # noqa: ARG002 (for subclasses)
        """Yield changes of the file at the finding's location that may cure it, the likeliest first.

        The default knows none. Each is run before anybody is told that it helps, so a good guess is welcome;
        an edit that cannot be placed safely is left out.
        """
        yield from ()

    @classmethod
    def manual(cls) -> str:
        """Return the manual page: the docstring, dedented."""
        return inspect.cleandoc(cls.__doc__ or "")

    @classmethod
    def programs(cls) -> list[Program]:
        """Return the documented programs, in order. A section may hold several, each in its own code fence."""
        found = []
        sections = re.split(r"^## +", cls.manual(), flags=re.MULTILINE)[1:]
        for section in sections:
            title, _, body = section.partition("\n")
            fences = re.findall(r"^```python\n(.*?)^```", body, flags=re.MULTILINE | re.DOTALL)
            for number, text in enumerate(fences):
                program = textwrap.dedent(text)
                found.append(Program(cls.name, title.strip().lower(), number, program))
        return found
