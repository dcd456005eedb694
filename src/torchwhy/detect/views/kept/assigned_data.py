"""Where the program assigns a computed value to the `.data` of a tensor, from its text."""

from __future__ import annotations

import ast

from torchwhy.finding import SourceSpan
from torchwhy.record.trace import Trace


def assigned_data(trace: Trace) -> SourceSpan | None:
    """Return the first statement `tensor.data = a * b + …`."""
    for source in trace.files.values():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
                targets = [one for one in node.targets if isinstance(one, ast.Attribute)]
                if any(one.attr == "data" for one in targets):
                    return source.span(node)
    return None
