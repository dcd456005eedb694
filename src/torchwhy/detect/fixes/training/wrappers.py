"""Edits of the call that wraps a model in DistributedDataParallel."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.fixes.training.optimizers import set_option
from torchwhy.finding import Fix, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.source.calls import called
from torchwhy.source.edits import Source

WRAPPER = "DistributedDataParallel"
OPTION = "find_unused_parameters"


def wrapper_calls(source: Source) -> list[ast.Call]:
    """Return the calls of the wrapper, also under a name that an import gives it."""
    nodes = list(ast.walk(source.tree))
    imported = (alias for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names)
    names = {WRAPPER} | {one.asname for one in imported if one.name == WRAPPER and one.asname}
    return [node for node in nodes if isinstance(node, ast.Call) and called(node) in names]


def only_wrapper(trace: Trace) -> SourceSpan | None:
    """Return the only call in the program that wraps a model."""
    made = [source.span(call) for source in trace.files.values() for call in wrapper_calls(source)]
    return made[0] if len(made) == 1 else None


def search_unused(source: Source) -> Iterator[Fix]:
    """Yield the wrapper with the option that makes it look for unused parameters."""
    calls = wrapper_calls(source)
    edit = set_option(source, calls[0], OPTION, "True") if len(calls) == 1 else None
    if edit is not None:
        yield from source.fix(f"set {OPTION}=True in {WRAPPER}", edit)
