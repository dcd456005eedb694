"""Which rows of its tables a loop without a loader draws, as a rehearsal found them by their content."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from torchwhy.detect.checks.recorded_facts import answered
from torchwhy.detect.views.inputs.loaders_seen import training
from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.scopes import covers, line_at

SLUG = "rows-of-tables"
OFFSETS = 3  # arguments of a `range` that counts the first rows of batches


@dataclass(frozen=True)
class TableDraws:
    """The rows that captured batches hold of a table in a variable of the program."""

    facts: Mapping[str, Any]
    places: Mapping[str, SourceSpan]

    @property
    def table(self) -> str:
        """Return the variable that holds the table."""
        return str(self.facts["table"])

    def number(self, name: str) -> int:
        """Return one of the counts."""
        return int(decode(self.facts[name]))

    @property
    def is_left_alone(self) -> bool:
        """Tell whether the rows that were not drawn are data like the others, and no index leaves them out."""
        return not any(self.facts[one] for one in ("written", "rest is blank", "chosen"))

    @property
    def labels(self) -> str | None:
        """Return the variable that holds the labels of classes, if one does."""
        return self.facts.get("labels")


def table_draws(trace: Trace) -> TableDraws | None:
    """Return what a loop draws from a table; None if a loader draws the batches, or no table is known."""
    if training(trace):
        return None
    found = next(iter(answered(trace, SLUG)), None)
    return None if found is None else TableDraws(found.answer, found.places)


def unread_offset(trace: Trace, place: SourceSpan | None) -> tuple[SourceSpan, str] | None:
    """Return the innermost loop over `range(first, last, step)` around a place whose variable its body never reads."""
    source = trace.files.get(place.file) if place is not None else None
    if source is None or place is None:
        return None
    counting = [
        loop
        for loop in ast.walk(source.tree)
        if isinstance(loop, ast.For)
        and isinstance(loop.target, ast.Name)
        and covers(loop, place.line)
        and _counts_offsets(loop.iter)
    ]
    if not counting:
        return None
    loop = max(counting, key=line_at)
    assert isinstance(loop.target, ast.Name)
    variable = loop.target.id
    names = (node for part in loop.body for node in ast.walk(part) if isinstance(node, ast.Name))
    return None if any(one.id == variable for one in names) else (source.span(loop.iter), variable)


def _counts_offsets(over: ast.expr) -> bool:
    if not isinstance(over, ast.Call) or len(over.args) != OFFSETS:
        return False
    return isinstance(over.func, ast.Name) and over.func.id == "range"
