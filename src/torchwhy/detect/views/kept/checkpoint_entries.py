"""Which entries of a checkpoint the program reads, from its text: `checkpoint["epoch"]`."""

from __future__ import annotations

import ast

from torchwhy.record.kept.kept_state import CheckpointEntry
from torchwhy.record.trace import Trace
from torchwhy.source.calls import word_of
from torchwhy.source.edits import Source

GETTERS = {"get", "pop"}
SHOWN = {"print", "format", "info", "debug", "log", "warning"}


def goes_on_from(trace: Trace, entry: CheckpointEntry) -> bool:
    """Tell whether the program goes on from a number that counts its progress, and does not only print it."""
    return entry.kind == "count" and bool(entry.key) and names_entry(trace, entry.key, shown=False)


def names_entry(trace: Trace, key: str, *, shown: bool = True) -> bool:
    """Tell whether the program reads an entry; with `shown=False`, other than to print it."""
    return any(
        _reads(node, key) and (shown or not _is_shown(source, node))
        for source in trace.files.values()
        for node in ast.walk(source.tree)
    )


def _is_shown(source: Source, node: ast.AST) -> bool:
    """Tell whether a value goes into a text or a call of `print`."""
    return any(
        isinstance(above, ast.JoinedStr)
        or (isinstance(above, ast.Call) and word_of(above) in SHOWN)
        for above in source.around(node)
    )


def _reads(node: ast.AST, key: str) -> bool:
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return isinstance(node.slice, ast.Constant) and node.slice.value == key
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        first = node.args[0] if node.args else None
        is_getter = node.func.attr in GETTERS
        return is_getter and isinstance(first, ast.Constant) and first.value == key
    return False
