"""Patterns of operations in the forward graph, written the way the graph runs.

`param → sigmoid → log_sigmoid_forward|binary_cross_entropy_with_logits`: a parameter feeds a sigmoid, directly or not,
and its result is the first operand of one of two losses. `⇢` allows any operand, `*` any operation. Casts and copies
between two operations do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import GraphOperation

ARROW = re.compile(r"\s*([→⇢])\s*")
FIRST_OPERAND, ANY_OPERAND = "→⇢"
PARAMETER = "param"
ANY_OPERATION = "*"


@dataclass(frozen=True)
class Pattern:
    """The kinds of each operation, last one first, and the arrows between them; no kinds mean any operation."""

    kinds: tuple[tuple[str, ...], ...]
    arrows: tuple[str, ...]
    trains: bool


@cache
def read(text: str) -> Pattern:
    """Return the pattern that a text describes."""
    parts = ARROW.split(text)
    names, arrows = parts[::2], parts[1::2]
    trains = names[0] == PARAMETER
    if trains:
        names, arrows = names[1:], arrows[1:]
    kinds = [() if name == ANY_OPERATION else tuple(name.split("|")) for name in names]
    return Pattern(tuple(reversed(kinds)), tuple(reversed(arrows)), trains)


def find(graph: ForwardGraph, text: str) -> Iterator[tuple[GraphOperation, ...]]:
    """Yield the chains of operations that fit a pattern, in the order in which their last operations ran."""
    pattern = read(text)
    for last in graph.operations(*pattern.kinds[0]):
        for chain in _behind(graph, pattern, (last,)):
            if not pattern.trains or graph.trains(chain[0]):
                yield chain


def _behind(
    graph: ForwardGraph, pattern: Pattern, chain: tuple[GraphOperation, ...]
) -> Iterator[tuple[GraphOperation, ...]]:
    """Yield the chain extended at its front by the operations that the pattern still asks for."""
    if len(chain) == len(pattern.kinds):
        yield chain
        return
    kinds, arrow = pattern.kinds[len(chain)], pattern.arrows[len(chain) - 1]
    sources = graph.sources(chain[0])
    for source in sources if arrow == ANY_OPERAND else sources[:1]:
        if source is not None and (not kinds or base_of(source) in kinds):
            yield from _behind(graph, pattern, (source, *chain))
