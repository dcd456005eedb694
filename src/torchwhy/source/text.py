"""One file of the program as text and as syntax: what stands where, and what a finding's place says.

Lines count from 1, columns from 0 and in characters, as findings have them; Python's own columns are bytes.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from functools import cached_property

from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.source.calls import last_word
from torchwhy.source.scopes import FUNCTIONS, LOOPS, Loop, line_at

EXPRESSION_LIMIT = 200  # characters of an expression worth recording; a longer one is cut off
CUT_OFF = "…"  # ends a recorded expression that was too long to record whole

WITH_A_HEADER = (
    *(ast.For, ast.AsyncFor, ast.With, ast.AsyncWith),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
)

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Position = tuple[int, int | None, int | None, int | None]  # line, end line, column, end column


@dataclass(frozen=True)
class Text:
    """One file of the program as text and as syntax; `file` is its name in findings."""

    file: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Return the syntax; an empty one for a text that is not Python."""
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError):
            return ast.Module(body=[], type_ignores=[])

    @cached_property
    def line_starts(self) -> list[int]:
        """Return where each line begins in the text, and at last where the text ends."""
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

    @cached_property
    def expressions(self) -> dict[int, list[ast.expr]]:
        """Return the expressions that begin on each line, outer ones first."""
        found: dict[int, list[ast.expr]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.expr):
                found.setdefault(node.lineno, []).append(node)
        return found

    def offset(self, line: int, column: int, *, in_bytes: bool = False) -> int:
        """Return the place of a line (from 1) and column (from 0, characters or UTF-8 bytes) in the text."""
        start = self.line_starts[line - 1]
        if not in_bytes:
            return start + column
        text = self.text[start : self.line_starts[line]]
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
        candidates = self.expressions.get(span.line, ())
        found = next((one for one in candidates if self.stretch(one) == wanted), None)
        return found or self._chained_call(wanted[1], span.line)

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

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what encloses a piece of syntax, the nearest first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def function_of(self, node: ast.AST) -> ast.AST:
        """Return the function or lambda around a piece of syntax, the whole file outside of functions."""
        return next((one for one in self.around(node) if isinstance(one, FUNCTIONS)), self.tree)

    def function_name(self, node: ast.AST) -> str:
        """Return the name of the function around a piece of syntax, as its code object has it."""
        function = self.function_of(node)
        return str(getattr(function, "name", "<module>" if function is self.tree else "<lambda>"))

    def loops(self) -> Iterator[Loop]:
        """Yield all loops of the file."""
        yield from (node for node in ast.walk(self.tree) if isinstance(node, LOOPS))

    def loops_of(self, node: ast.AST) -> list[Loop]:
        """Return the loops around a piece of syntax inside its own function, the nearest first."""
        found: list[Loop] = []
        for outer in self.around(node):
            if isinstance(outer, FUNCTIONS):
                break
            if isinstance(outer, LOOPS):
                found.append(outer)
        return found

    def position(self, node: ast.expr | ast.stmt) -> tuple[int, int, int, int]:
        """Return line, end line and both columns in characters; Python counts columns in bytes."""
        end_line = node.end_lineno or node.lineno
        return (
            node.lineno,
            end_line,
            self._characters(node.lineno, node.col_offset),
            self._characters(end_line, node.end_col_offset or 0),
        )

    def _characters(self, line: int, column: int) -> int:
        return len(self.lines[line - 1].encode()[:column].decode(errors="ignore"))

    def span(self, node: ast.AST, function: str | None = None) -> SourceSpan:
        """Return the place of a piece of syntax as findings have it, by default with the function around it.

        Of a loop, a `with` or a definition it is the first line.
        """
        function = self.function_name(node) if function is None else function
        if not isinstance(node, (ast.expr, ast.stmt)):
            return SourceSpan(self.file, line_at(node), function=function)
        position = line, end_line, column, end_column = self.position(node)
        if isinstance(node, WITH_A_HEADER):
            header = self.lines[line - 1].strip() or None
            return SourceSpan(self.file, line, line, column, function=function, expression=header)
        return SourceSpan(
            file=self.file,
            line=line,
            end_line=end_line,
            column=column,
            end_column=end_column,
            function=function,
            expression=between(split_lines(self.text), position),
        )

    def syntax_at(self, span: SourceSpan) -> ast.expr | ast.stmt | None:
        """Return the expression or statement that covers exactly a span, whatever its text."""
        wanted = (span.line, span.end_line, span.column, span.end_column)
        for node in ast.walk(self.tree):
            if not isinstance(node, (ast.expr, ast.stmt)) or isinstance(node, ast.Expr):
                continue
            if node.lineno == span.line and self.position(node) == wanted:
                return node
        return None

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


def split_lines(text: str) -> list[str]:
    """Return the lines as Python counts them, with their ends; a form feed, for one, ends none."""
    return [line for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", text) if line]


def between(lines: Sequence[str], position: Position) -> str | None:
    """Return what stands at a position, dedented and cut off where it is long; the whole line without columns."""
    line, end_line, column, end_column = position
    wanted = list(lines[line - 1 : end_line or line])
    if not wanted:
        return None
    if column is not None and end_column is not None:
        wanted[-1] = wanted[-1][:end_column]
        wanted[0] = " " * column + wanted[0][column:]
    # A single line, the usual case, needs no `dedent`: that makes a regular expression of every margin.
    text = wanted[0].strip() if len(wanted) == 1 else textwrap.dedent("".join(wanted)).strip()
    return text if len(text) <= EXPRESSION_LIMIT else text[:EXPRESSION_LIMIT] + CUT_OFF


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


def one_line(text: str) -> str:
    """Return a text for a title: on one line."""
    return " ".join(text.split())
