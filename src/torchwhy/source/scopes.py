"""What encloses a piece of syntax: blocks, loops, functions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchwhy.source.text import Text


def enclosing(source: Text, node: ast.AST, *kinds: type[ast.AST]) -> ast.AST | None:
    """Return the nearest piece of syntax of these kinds around another."""
    place = source.parents.get(node)
    while place is not None and not isinstance(place, kinds):
        place = source.parents.get(place)
    return place
