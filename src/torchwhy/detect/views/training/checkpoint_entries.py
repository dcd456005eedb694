"""Which entries of a checkpoint the program reads, from its text: `checkpoint["epoch"]`."""

from __future__ import annotations

import ast

from torchwhy.record.kept_state import CheckpointEntry
from torchwhy.record.trace import Trace

GETTERS = {"get", "pop"}


def reads_entry(trace: Trace, entry: CheckpointEntry) -> bool:
    """Tell whether the program reads a number that counts its progress: a program that goes on from there resumes."""
    if entry.kind != "count" or not entry.key:
        return False
    return any(
        _reads(node, entry.key) for source in trace.files.values() for node in ast.walk(source.tree)
    )


def _reads(node: ast.AST, key: str) -> bool:
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return isinstance(node.slice, ast.Constant) and node.slice.value == key
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        first = node.args[0] if node.args else None
        is_getter = node.func.attr in GETTERS
        return is_getter and isinstance(first, ast.Constant) and first.value == key
    return False
