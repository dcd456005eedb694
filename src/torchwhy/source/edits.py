"""Minimal edits of a source text: exact stretches are replaced, everything else stays as the author wrote it.

A detector's `propose` finds the syntax of its finding in a `Source`, makes edits of it, and gets the diff. What
does not stand where the finding says, word for word, is not edited: the file has changed since the run.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cached_property

from torchwhy.finding import Fix, Safety
from torchwhy.plain_data import dataclass
from torchwhy.source.text import Text, is_python, split_lines

CONTEXT_LINES = 2
FEW_LINES = 1  # around a change of one expression


@dataclass(frozen=True)
class Edit:
    """Put `text` in place of the characters from `start` to `end` of the source, counted from 0."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Source(Text):
    """A file that can be edited; `others` opens further files by name, `command` is the one that ran the program."""

    others: Callable[[str], Source | None] = field(default=lambda _file: None, compare=False)
    command: tuple[str, ...] = field(default=(), compare=False)

    def remove(self, statement: ast.stmt) -> Edit | None:
        """Return the edit that takes out a statement with its lines; None where it shares them with another."""
        start, end = self.stretch(statement)
        line_start = self.line_starts[statement.lineno - 1]
        assert statement.end_lineno is not None
        line_end = self.line_starts[statement.end_lineno]
        rest = self.text[end:line_end].strip()
        if self.text[line_start:start].strip() or (rest and not rest.startswith("#")):
            return None
        block = next(
            (
                body
                for _, body in ast.iter_fields(self.parents.get(statement, self.tree))
                if isinstance(body, list) and statement in body
            ),
            [],
        )
        return Edit(line_start, line_end, "") if len(block) > 1 else None

    def without(self, statement: ast.stmt) -> Edit | None:
        """Return the edit that takes out a statement, with the loop or condition that holds nothing else."""
        holder = self.parents.get(statement)
        is_all = isinstance(holder, ast.For | ast.If | ast.With) and holder.body == [statement]
        if is_all and isinstance(holder, ast.stmt) and not getattr(holder, "orelse", []):
            return self.without(holder)
        return self.remove(statement) or self.replace(statement, "pass")

    def replace(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        """Return the edit that puts a text in place of a piece of syntax."""
        return Edit(*self.stretch(node), text)

    def insert_before(self, statement: ast.stmt, text: str) -> Edit | None:
        """Return the edit that puts a statement on a line of its own before another; None where that has no place."""
        start = self.line_starts[statement.lineno - 1]
        margin = self.text[start : self.stretch(statement)[0]]
        if margin.strip():
            return None
        return Edit(start, start, f"{margin}{text}{self._newline}")

    def insert_after(self, statement: ast.stmt, text: str) -> Edit | None:
        """Return the edit that puts a statement on the line after another."""
        start, end = self.stretch(statement)
        margin = self.text[self.line_starts[statement.lineno - 1] : start]
        assert statement.end_lineno is not None
        line_end = self.line_starts[statement.end_lineno]
        rest = self.text[end:line_end].strip()
        if margin.strip() or (rest and not rest.startswith("#")):
            return None
        missing = "" if self.text[:line_end].endswith("\n") else self._newline
        return Edit(line_end, line_end, f"{missing}{margin}{text}{self._newline}")

    @cached_property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def edited(self, edits: Sequence[Edit]) -> str:
        """Return the text with all edits made; edits that overlap are a mistake of the caller."""
        text, end_of_last = self.text, len(self.text)
        for edit in sorted(edits, key=lambda one: (one.start, one.end), reverse=True):
            if edit.end > end_of_last:
                raise ValueError("two edits overlap")
            text = text[: edit.start] + edit.text + text[edit.end :]
            end_of_last = edit.start
        return text

    def fix(
        self,
        title: str,
        *edits: Edit | None,
        safety: Safety = "changes-results",
        hides: bool = False,
    ) -> Iterator[Fix]:
        """Yield the edits as one fix; nothing where one could not be placed, or the result is not Python."""
        placed = [edit for edit in edits if edit is not None]
        if len(placed) != len(edits):
            return
        after = self.edited(placed)
        if after == self.text or not is_python(after):
            return
        diff = diff_between(self.file, self.text, after)
        yield Fix(title, diff=diff, safety=safety, hides=hides)

    def replaced(self, node: ast.expr | ast.stmt, text: str) -> str:
        """Return the diff of the file in which one piece of syntax reads `text`."""
        after = self.edited([self.replace(node, text)])
        return diff_between(self.file, self.text, after, context=FEW_LINES)


def diff_between(file: str, before: str, after: str, *, context: int = CONTEXT_LINES) -> str:
    """Return the unified diff of one file."""
    lines = difflib.unified_diff(
        split_lines(before),
        split_lines(after),
        f"a/{file}",
        f"b/{file}",
        n=context,
    )
    marked = (
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
    return "".join(marked)


def in_brackets(text: str, node: ast.expr) -> str:
    """Return an expression so that a method call or an operator may follow it."""
    plain = ast.Name | ast.Attribute | ast.Call | ast.Subscript
    is_closed = isinstance(node, plain) or (text.startswith("(") and _closes_at_end(text))
    return text if is_closed else f"({text})"


def _closes_at_end(text: str) -> bool:
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return place == len(text) - 1
    return False
