"""Which statements of the program freeze parameters; torch has no hook for that, so the source tells."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator

from torchwhy.finding import SourceSpan
from torchwhy.observe.frames import layer_of, shown_path

MOST_FILES = 50  # of the program that are read
MOST_TOLD = 8


def freezing_statements() -> list[SourceSpan]:
    """Return the statements of the user's loaded files that can set `requires_grad` to False, in order."""
    found: list[SourceSpan] = []
    for filename in list(_user_files())[:MOST_FILES]:
        try:
            tree = ast.parse("".join(linecache.getlines(filename)))
        except (SyntaxError, ValueError):
            continue
        found += [
            _span(filename, node)
            for node in ast.walk(tree)
            if isinstance(node, ast.stmt) and _freezes(node)
        ]
    return sorted(found, key=lambda span: (span.file, span.line))[:MOST_TOLD]


def _user_files() -> Iterator[str]:
    seen = set()
    for module in list(sys.modules.values()):
        filename = getattr(module, "__file__", None)
        if isinstance(filename, str) and filename not in seen and layer_of(filename) == "user":
            seen.add(filename)
            yield filename


def _freezes(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        targets = [target for target in node.targets if isinstance(target, ast.Attribute)]
        return any(target.attr == "requires_grad" for target in targets) and not _is_true(
            node.value
        )
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        named = isinstance(call.func, ast.Attribute) and call.func.attr == "requires_grad_"
        return named and bool(values) and not _is_true(values[0])
    return False


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _span(filename: str, node: ast.stmt) -> SourceSpan:
    return SourceSpan(
        file=shown_path(filename),
        line=node.lineno,
        end_line=node.end_lineno,
        column=node.col_offset,
        end_column=node.end_col_offset,
        expression=ast.unparse(node),
    )
