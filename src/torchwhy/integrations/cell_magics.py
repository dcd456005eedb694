"""`%load_ext torchwhy`: watches cells of a notebook, and shows the report under the cell.

`%%torchwhy` above a cell watches that cell, `%torchwhy on` all that follow. The cell itself runs, no copy of it:
IPython's syntax tree of it gets a `with` block around its statements, so that its lines keep their numbers.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from typing import Any

from torchwhy.errors import UsageError
from torchwhy.integrations.block import (
    WatchIfItTrains,
    show_with,
    speak_as_notebook,
    watch,
)
from torchwhy.source import files

MAGIC = "%%torchwhy"
MARK = "torchwhy"  # in the metadata of an output that is a report
BLOCK, SHOWN = "__torchwhy_block__", "__torchwhy_shown__"  # names in the wrapped cell
ON_FAILURE_OPTIONS = {"--skip": "skip", "--continue": "continue"}
USAGE = (
    "`%torchwhy on`, `%torchwhy off` or `%torchwhy report`; above a cell, `%%torchwhy`; `on` and `%%torchwhy` take "
    "--closely, and --skip or --continue"
)


class CellWatch(ast.NodeTransformer):
    """Knows whether cells are watched, and puts the block around the statements of one."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self.is_on = False
        self._options: list[str] = []  # of the cells that follow `%torchwhy on`
        self.last: watch | None = None

    def command(self, line: str) -> Any:
        """Do what `%torchwhy LINE` asks."""
        word, *options = line.split() or [""]
        if word in ("on", "off"):
            _check(options)
            self.is_on, self._options = word == "on", options
            return None
        if word == "report":
            return None if self.last is None else self.last.report
        raise UsageError(f"{word!r} is not known: {USAGE}.", slug="wrong-option")

    def mark(self, lines: list[str]) -> list[str]:
        """Turn the magic's line into a string, which the syntax tree keeps: IPython would hand the cell on as text."""
        words = lines[0].split() if lines else []
        if words[:1] != [MAGIC]:
            return lines
        return [f"{' '.join(words)!r}\n", *lines[1:]]

    def visit_Module(self, cell: ast.Module) -> ast.Module:
        """Return the cell with its statements inside a block, if it is to be watched."""
        body = cell.body
        words = _magic_words(body[0]) if body else None
        if words is not None:
            body = body[1:]
        elif not (self.is_on and _may_use_torch(cell)):
            return cell
        fixed = sum(1 for _ in _leading_imports_from_the_future(body))
        inner = _with_shown_value(body[fixed:])
        options = ast.Constant(" ".join(words[1:]) if words is not None else None)
        call = ast.Call(ast.Name(BLOCK, ast.Load()), [options], [])
        block = ast.With([ast.withitem(call)], inner or [ast.Pass()])
        ast.copy_location(block, inner[0] if inner else cell.body[0])
        whole = ast.Module([*body[:fixed], block], cell.type_ignores)
        return ast.fix_missing_locations(whole)

    def block(self, options: str | None) -> watch:
        """Return what watches a cell: under the options of `%%torchwhy`, None under `%torchwhy on`."""
        kind = watch if options is not None else WatchIfItTrains
        words = self._options if options is None else options.split()
        _check(words)
        ways: list[Any] = [ON_FAILURE_OPTIONS[word] for word in words if word in ON_FAILURE_OPTIONS]
        self.last = kind(on_failure=ways[-1] if ways else "raise", closely="--closely" in words)
        return self.last

    def shown(self, value: Any) -> None:
        """Show the value of the cell's last expression, as IPython does."""
        if value is not None:
            sys.displayhook(value)

    def name_of(self, filename: str) -> str | None:
        """Return `In [7]` for the file name of a cell."""
        label = self._shell.compile.format_code_name(filename)
        number = re.search(r"\d+", label[1]) if label else None
        return f"In [{number[0]}]" if number else None


def _check(words: list[str]) -> None:
    unknown = [word for word in words if word not in {"--closely", *ON_FAILURE_OPTIONS}]
    if unknown:
        raise UsageError(f"{unknown[0]} is not known: {USAGE}.", slug="wrong-option")


def _magic_words(statement: ast.stmt) -> list[str] | None:
    value = statement.value if isinstance(statement, ast.Expr) else None
    text = value.value if isinstance(value, ast.Constant) else None
    words = text.split() if isinstance(text, str) else []
    return words if words[:1] == [MAGIC] else None


def _may_use_torch(cell: ast.Module) -> bool:
    """Tell whether torch is there or this cell imports it; a cell without it is not worth a second of import."""
    if "torch" in sys.modules:
        return True
    names = (
        name
        for node in ast.walk(cell)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in [getattr(node, "module", None), *(alias.name for alias in node.names)]
    )
    return any(name and "torch" in name for name in names)


def _leading_imports_from_the_future(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            return
        yield statement


def _with_shown_value(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements, of which the last shows its value if it is an expression."""
    if not body or not isinstance(body[-1], ast.Expr):
        return body
    value = body[-1].value
    call = ast.Call(ast.Name(SHOWN, ast.Load()), [value], [])
    last = ast.copy_location(ast.Expr(ast.copy_location(call, value)), body[-1])
    return [*body[:-1], ast.fix_missing_locations(last)]


def load_ipython_extension(shell: Any) -> None:
    """Begin to understand the magics; IPython calls this."""
    from IPython import display as output

    display: Any = output.display
    cells = CellWatch(shell)
    shell.push({BLOCK: cells.block, SHOWN: cells.shown}, interactive=False)
    shell.input_transformers_cleanup.append(cells.mark)
    shell.ast_transformers.append(cells)
    shell.register_magic_function(cells.command, "line", "torchwhy")
    files.name_cells(cells.name_of)
    show_with(lambda report: display(report, metadata={MARK: str(report.run_directory)}))
    speak_as_notebook(f"run this cell again with `{MAGIC} --closely`")


def unload_ipython_extension(shell: Any) -> None:
    """Forget the magics; IPython calls this."""
    shell.ast_transformers = [
        one for one in shell.ast_transformers if not isinstance(one, CellWatch)
    ]
    shell.input_transformers_cleanup = [
        one
        for one in shell.input_transformers_cleanup
        if not isinstance(getattr(one, "__self__", None), CellWatch)
    ]
