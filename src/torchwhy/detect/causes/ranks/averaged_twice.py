from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchwhy.detect.base import Detector
from torchwhy.detect.views.graph.accumulation import is_mean
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.learning import GraphOperation
from torchwhy.record.numbers import decode
from torchwhy.record.ranks.rank_events import GradientsShared
from torchwhy.record.trace import Trace
from torchwhy.source.bindings import value_of_name
from torchwhy.source.calls import called
from torchwhy.source.edits import Source

NUMBER_OF_RANKS = "get_world_size"  # torch's own function
DIVISION = "div"


class DividedAgain(Diagnosis):
    """The loss is divided by the number of ranks, whose gradients a wrapper averages already."""

    ranks: int
    wrapper: str
    message = (
        "the loss is a mean that is divided by the {ranks} ranks once more: {wrapper} averages the gradients already, "
        "so they are {ranks} times too small"
    )
    advice = "hand the mean itself to `backward()`; divide only a copy that you print"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"the last operation of the loss divides by {self.ranks}, which the program takes from `{NUMBER_OF_RANKS}`"
        )


class AveragedTwice(Detector):
    """The program divides its loss by the number of ranks, and the wrapper divides the gradients again."""

    name = "averaged-twice"

    def scan(self, trace: Trace) -> Iterator[Finding]:  # noqa: ARG002 - told once for all ranks
        yield from ()

    def compare(self, traces: Sequence[Trace]) -> Iterator[Finding]:
        trace = traces[0]
        group = next(iter(trace.of(GradientsShared)), None)
        graph = ForwardGraph(trace)
        root = next((one for one in graph.losses if one.order is not None), None)
        made = None if root is None else graph.operation(root.order)
        if group is None or made is None or base_of(made) != DIVISION or not is_mean(trace):
            return
        scalars = [one for one in made.scalars.values() if isinstance(one, int | float)]
        ranks = len(group.ranks)
        if ranks not in map(decode, scalars) or not _divides_by_ranks(trace, made):
            return
        yield self.found(
            trace,
            DividedAgain(ranks=ranks, wrapper=group.wrapper),
            severity="note",
            step=0,
            location=made.location,
        )


def _divides_by_ranks(trace: Trace, division: GraphOperation) -> bool:
    """Tell whether the text divides by what `get_world_size` returns."""
    place = division.location
    source = None if place is None else trace.files.get(place.file)
    statement = None if source is None or place is None else source.statement_at(place.line)
    if source is None or statement is None:
        return False
    return any(_is_number_of_ranks(source, one) for one in _divisors(statement))


def _divisors(statement: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Div):
        yield statement.value
    for node in ast.walk(statement):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            yield node.right


def _is_number_of_ranks(source: Source, node: ast.expr) -> bool:
    value = value_of_name(source, node) if isinstance(node, ast.Name) else node
    return called(value) == NUMBER_OF_RANKS
