"""Minimal edits of a source text: exact stretches are replaced, everything else stays as the author wrote it.

A detector's `propose` finds the syntax of its finding in a `Source`, makes edits of it, and gets the diff. What
does not stand where the finding says, word for word, is not edited: the file has changed since the run.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from torchwhy.finding import Fix, Safety, SourceSpan

CONTEXT_LINES = 2
CUT_OFF = "…"  # ends a recorded expression that was too long to record whole

Statement = ast.stmt
Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Edit:
    """Put `text` in place of the characters from `start` to `end` of the source, counted from 0."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Source:
    """One file of the program as text and as syntax; `others` opens further files by their names in findings."""

    file: str
    text: str
    others: Callable[[str], Source | None] = field(default=lambda _file: None, compare=False)

    @cached_property
    def tree(self) -> ast.Module:
        """Return the syntax; an empty one for a text that is not Python."""
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError):
            return ast.Module(body=[], type_ignores=[])

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for line in split_lines(self.text):
            starts.append(starts[-1] + len(line))
        return starts

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines without their ends."""
        return [line.rstrip("\r\n") for line in split_lines(self.text)]

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Return for every piece of syntax the one that holds it."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def offset(self, line: int, column: int, *, in_bytes: bool = False) -> int:
        """Return the place of a line (from 1) and column (from 0, characters or UTF-8 bytes) in the text."""
        start = self._line_starts[line - 1]
        if not in_bytes:
            return start + column
        text = self.text[start : self._line_starts[line]]
        return start + len(text.encode()[:column].decode(errors="ignore"))

    def stretch(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return where a piece of syntax begins and ends in the text."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self.offset(node.lineno, node.col_offset, in_bytes=True),
            self.offset(node.end_lineno, node.end_col_offset, in_bytes=True),
        )

    def of(self, node: ast.expr | ast.stmt) -> str:
        """Return the text of a piece of syntax, as the author wrote it."""
        start, end = self.stretch(node)
        return self.text[start:end]

    def at(self, span: SourceSpan | None) -> ast.expr | None:
        """Return the expression at a span; None if the text there is not what the span says."""
        if span is None or span.column is None or span.end_column is None:
            return None
        if not self.still_holds(span):
            return None
        last = span.end_line or span.line
        wanted = self.offset(span.line, span.column), self.offset(last, span.end_column)
        found = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.expr)
            and node.lineno == span.line
            and self.stretch(node) == wanted
        ]
        return found[0] if found else self._chained_call(wanted[1], span.line)

    def _chained_call(self, end: int, line: int) -> ast.Call | None:
        """Return the call that ends there: Python counts a method call on a line of its own from the method's name."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and node.lineno <= line and self.stretch(node)[1] == end:
                return node
        return None

    def still_holds(self, span: SourceSpan) -> bool:
        """Tell whether the file holds, at the span, the expression that was recorded there."""
        last = span.end_line or span.line
        if not 0 < span.line <= last <= len(self.lines):
            return False
        if span.expression is None:
            return True
        if span.column is None or span.end_column is None:
            return same_words(self.lines[span.line - 1], span.expression)
        text = self.text[self.offset(span.line, span.column) : self.offset(last, span.end_column)]
        return same_words(text, span.expression)

    def statement_at(self, line: int) -> ast.stmt | None:
        """Return the innermost statement that stands on a line."""
        around = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
        ]
        return max(around, key=lambda node: (node.lineno, node.col_offset), default=None)

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """Return the statement that an expression is part of."""
        place: ast.AST | None = node
        while place is not None and not isinstance(place, ast.stmt):
            place = self.parents.get(place)
        return place

    def scope_of(self, node: ast.AST) -> Scope:
        """Return the function around a piece of syntax, the whole file outside of functions."""
        place = self.parents.get(node)
        while place is not None:
            if isinstance(place, ast.FunctionDef | ast.AsyncFunctionDef):
                return place
            place = self.parents.get(place)
        return self.tree

    def calls(self, *names: str, within: ast.AST | None = None) -> Iterator[ast.Call]:
        """Yield the calls whose last word is one of `names`: `backward` for `loss.backward()`."""
        for node in ast.walk(within or self.tree):
            if isinstance(node, ast.Call) and last_word(node.func) in names:
                yield node

    def in_own_brackets(self, node: ast.expr) -> tuple[int, int]:
        """Return where an operand begins and ends with the brackets around it, which are no part of its syntax."""
        start, end = self.stretch(node)
        before, after = self.text[:start].rstrip(), self.text[end:]
        close = len(after) - len(after.lstrip())
        if before.endswith("(") and after.lstrip().startswith(")"):
            return len(before) - 1, end + close + 1
        return start, end

    def remove(self, statement: ast.stmt) -> Edit | None:
        """Return the edit that takes out a statement with its lines; None where it shares them with another."""
        start, end = self.stretch(statement)
        line_start = self._line_starts[statement.lineno - 1]
        assert statement.end_lineno is not None
        line_end = self._line_starts[statement.end_lineno]
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
        start = self._line_starts[statement.lineno - 1]
        margin = self.text[start : self.stretch(statement)[0]]
        if margin.strip():
            return None
        return Edit(start, start, f"{margin}{text}{self._newline}")

    def insert_after(self, statement: ast.stmt, text: str) -> Edit | None:
        """Return the edit that puts a statement on the line after another."""
        start, end = self.stretch(statement)
        margin = self.text[self._line_starts[statement.lineno - 1] : start]
        assert statement.end_lineno is not None
        line_end = self._line_starts[statement.end_lineno]
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
        self, title: str, *edits: Edit | None, safety: Safety = "changes-results"
    ) -> Iterator[Fix]:
        """Yield the edits as one fix; nothing where one could not be placed, or the result is not Python."""
        placed = [edit for edit in edits if edit is not None]
        if len(placed) != len(edits):
            return
        after = self.edited(placed)
        if after == self.text or not is_python(after):
            return
        yield Fix(title, diff=diff_between(self.file, self.text, after), safety=safety)


def split_lines(text: str) -> list[str]:
    """Return the lines as Python counts them, with their ends; a form feed, for one, ends none."""
    return [line for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", text) if line]


def diff_between(file: str, before: str, after: str) -> str:
    """Return the unified diff of one file."""
    lines = difflib.unified_diff(
        split_lines(before),
        split_lines(after),
        f"a/{file}",
        f"b/{file}",
        n=CONTEXT_LINES,
    )
    marked = (
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
    return "".join(marked)


def is_python(text: str) -> bool:
    """Tell whether a text is a Python program."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def same_words(text: str, expression: str) -> bool:
    """Tell whether a text is, or with a cut-off expression begins as, what was recorded; blanks do not count."""
    there, recorded = "".join(text.split()), "".join(expression.split())
    if recorded.endswith(CUT_OFF):
        return there.startswith(recorded.removesuffix(CUT_OFF))
    return recorded in there if "\n" not in text else there == recorded


def last_word(function: ast.expr) -> str | None:
    """Return `log` for `torch.log` and for `log`."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


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
