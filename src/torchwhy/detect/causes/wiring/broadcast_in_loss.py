from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.views.graph.graph_queries import (
    ELEMENTWISE,
    ERRORS,
    ForwardGraph,
    base_of,
    elements,
    expression_of,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

BINARY = ("sub", "rsub", "add", "mul", "div")


class BroadcastInLoss(Detector):
    """Shapes (n, 1) and (n,) met in a loss and gave (n, n)."""

    name = "broadcast-in-loss"
    needs = frozenset({"graph"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        seen = set()
        for operation in graph.operations(*BINARY, *ERRORS):
            if len(operation.input_shapes) < 2 or operation.location in seen:
                continue
            left, right = graph.shape_given(operation, 0), graph.shape_given(operation, 1)
            result = stretched(left, right)
            if result is None or not _is_mistake(graph, operation, result):
                continue
            seen.add(operation.location)
            yield self._finding(trace, graph, operation, (left, right, result))

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from modules.same_shape(finding, source)

    def _finding(
        self,
        trace: Trace,
        graph: ForwardGraph,
        operation: GraphOperation,
        shapes: tuple[list[int], list[int], list[int]],
    ) -> Finding:
        left, right, result = map(_shape, shapes)
        evidence = [
            Evidence(
                f"{elements(shapes[0])} values meet {elements(shapes[1])} others in {elements(shapes[2])} pairs",
                step=0,
                location=operation.location,
            )
        ]
        for position, shape in ((0, left), (1, right)):
            source = graph.source(operation, position)
            if (
                source is not None
                and source.location is not None
                and source.location != operation.location
            ):
                made = expression_of(source.location, "an operation")
                evidence.append(
                    Evidence(
                        f"the one of shape {shape} was made by {made}",
                        step=0,
                        location=source.location,
                    )
                )
        return Finding(
            detector=self.name,
            severity="error",
            message=f"shapes {left} and {right} were stretched to {result}: every sample is paired with every other",
            step=0,
            rank=trace.rank,
            location=operation.location,
            evidence=tuple(evidence),
            fixes=(
                Fix(
                    "give both the same shape: `.squeeze(1)` on one, or `.unsqueeze(1)` on the other",
                    safety="show-only",
                ),
            ),
        )


def stretched(left: list[int], right: list[int]) -> list[int] | None:
    """Return the shape that two operands are stretched to, if they hold as many values each and become more."""
    if len(left) == len(right) or elements(left) != elements(right) or elements(left) < 2:
        return None
    if [n for n in left if n != 1] != [n for n in right if n != 1]:
        return None
    width = max(len(left), len(right))
    padded = [[1] * (width - len(shape)) + shape for shape in (left, right)]
    result = [max(pair) for pair in zip(*padded, strict=True)]
    return result if elements(result) > elements(left) else None


def _is_mistake(graph: ForwardGraph, operation: GraphOperation, result: list[int]) -> bool:
    """Tell whether what was stretched goes into an average and was not stretched on purpose."""
    if base_of(operation) in ERRORS:
        return graph.operand_trains(operation, 0) or graph.operand_trains(operation, 1)
    if _is_on_purpose(graph, operation):
        return False
    trains = [graph.operand_trains(operation, position) for position in (0, 1)]
    allowed = (
        ELEMENTWISE | {"exp"} if base_of(operation) == "sub" and sum(trains) == 1 else ELEMENTWISE
    )

    def harmless(consumer: GraphOperation) -> bool:
        if (
            base_of(consumer) in ("sum", "mean")
            and consumer.shape
            and consumer.input_shapes[:1] == [result]
        ):
            return sum(trains) == 1 and base_of(operation) in ("sub", "rsub")
        if base_of(consumer) == "exp" and operation.order not in consumer.inputs:
            return False
        others = [
            source
            for position, source in enumerate(graph.sources(consumer))
            if source is not None and graph.shape_given(consumer, position) == result
        ]
        return all(graph.descends_from(source, operation) for source in others)

    return graph.goes_to_loss(operation, allowed, harmless)


def _is_on_purpose(graph: ForwardGraph, operation: GraphOperation) -> bool:
    """Tell whether the axis was made for this very expression, or a tensor is compared with itself."""
    sources = graph.sources(operation)[:2]
    if len(sources) == 2 and sources[0] is not None and sources[0] is sources[1]:
        return True
    line = operation.location.line if operation.location else None
    for position in (0, 1):
        view = graph.view(operation, position)
        if (
            view is not None
            and base_of(view) == "unsqueeze"
            and view.location
            and view.location.line == line
        ):
            return True
    return False


def _shape(shape: list[int]) -> str:
    return f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(map(str, shape))})"
