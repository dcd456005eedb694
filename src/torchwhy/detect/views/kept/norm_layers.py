"""Where the program makes normalisation layers, from its text."""

from __future__ import annotations

import ast

from torchwhy.finding import SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.source.calls import keyword, word_of

NORM = "BatchNorm"


def with_momentum(trace: Trace, momentum: float) -> SourceSpan | None:
    """Return the first call that makes a BatchNorm layer with this momentum."""
    for source in trace.files.values():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and NORM in (word_of(node) or ""):
                given = keyword(node, "momentum")
                if isinstance(given, ast.Constant) and given.value == momentum:
                    return source.span(node)
    return None
