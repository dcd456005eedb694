"""Edits of a loss that adds up its samples: the mean in place of the sum."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.finding import Finding, Fix
from torchwhy.source.calls import keyword
from torchwhy.source.edits import Source


def mean_for_sum(finding: Finding, source: Source) -> Iterator[Fix]:
    """Yield `.mean()` for the `.sum()` of the finding's expression, `reduction="mean"` for each "sum" of the file."""
    node = source.at(finding.location)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        function = source.of(node.func)
        if node.func.attr == "sum" and not node.keywords and len(node.args) < 2:
            mean = function.removesuffix("sum") + "mean"
            yield from source.fix("take the mean of the samples", source.replace(node.func, mean))
    for call in ast.walk(source.tree):
        given = keyword(call, "reduction") if isinstance(call, ast.Call) else None
        if isinstance(given, ast.Constant) and given.value == "sum":
            yield from source.fix("take the mean of the samples", source.replace(given, '"mean"'))
