"""Edits of a reshape whose sizes do not multiply up, together with the layer that takes its rows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchwhy.finding import Finding, Fix
from torchwhy.source.calls import is_method, keyword
from torchwhy.source.edits import Edit, Source, in_brackets

LET_TAKE = re.compile(r"let (?P<layer>[\w.]+) take (?P<features>\d+) features")
ASK_FOR = re.compile(r"^ask for (?P<sizes>[\d×]+),")


def flattened(finding: Finding, source: Source) -> Iterator[Fix]:
    """Yield rows without a number, `x.flatten(1)`, and a next layer that takes them; or the sizes that fit."""
    node = source.at(finding.location)
    if not isinstance(node, ast.Call):
        return
    for fix in finding.fixes:
        said = LET_TAKE.search(fix.title)
        if said is not None and is_method(source, node) and isinstance(node.func, ast.Attribute):
            text = f"{in_brackets(source.of(node.func.value), node.func.value)}.flatten(1)"
            resized = _layer_resized(source, said["layer"], said["features"])
            title = f"write {text}, and let {said['layer']} take {said['features']} features"
            if resized is not None:
                yield from source.fix(title, source.replace(node, text), resized)
        asked = ASK_FOR.search(fix.title)
        if asked is not None:
            yield from _sizes_replaced(source, node, asked["sizes"].split("×"))


def _layer_resized(source: Source, layer: str, features: str) -> Edit | None:
    """Return the edit of the first size of the layer, found by the last part of its name."""
    leaf = layer.rpartition(".")[2]
    for made in ast.walk(source.tree):
        value = made.value if isinstance(made, ast.Assign) else None
        if not isinstance(value, ast.Call) or not isinstance(made, ast.Assign):
            continue
        given = keyword(value, "in_features") or (value.args[0] if value.args else None)
        if source.of(made.targets[0]).rpartition(".")[2] == leaf and given is not None:
            return source.replace(given, features)
    return None


def _sizes_replaced(source: Source, node: ast.Call, sizes: list[str]) -> Iterator[Fix]:
    for part in ast.walk(node):
        if isinstance(part, ast.Tuple | ast.List) and len(part.elts) == len(sizes):
            text = f"({', '.join(sizes)})"
            yield from source.fix(f"ask for {text}", source.replace(part, text))
