"""A loss that is, as a whole, how alike the model's output and the data are: a cosine, or the overlap of two masks."""

from __future__ import annotations

from typing import Literal

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.detect.views.losses.bounded_losses import overlap_factors
from torchwhy.detect.views.losses.cosines import cosine_factors
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import GraphOperation
from torchwhy.record.numbers import decode

PASSED_ON = {"mul", "div", "mean", "sum", "_to_copy", "clone", "neg"}

Kind = Literal["cosine", "overlap"]


@dataclass(frozen=True)
class Similarity:
    """The loss is `sign` times the similarity that `operation` computes."""

    kind: Kind
    sign: int
    operation: GraphOperation


def similarity_behind(graph: ForwardGraph, root: GraphOperation | None) -> Similarity | None:
    """Return the similarity of an output with data that is the whole loss, None if the loss is something else."""
    sign = 1
    while root is not None:
        for kind, factors in (
            ("cosine", cosine_factors(graph, root)),
            ("overlap", overlap_factors(graph, root)),
        ):
            if factors is not None:
                beside_data = _one_is_data(graph, factors)
                return Similarity(kind, sign, root) if beside_data else None  # type: ignore[arg-type]
        base = base_of(root)
        if base not in PASSED_ON or len(root.input_shapes) != 1:
            return None
        factor = root.scalars.get("1") if base in ("mul", "div") else None
        is_negative = isinstance(factor, (int, float)) and decode(factor) < 0
        sign = -sign if base == "neg" or is_negative else sign
        root = graph.source(root)
    return None


def _one_is_data(graph: ForwardGraph, product: GraphOperation) -> bool:
    """Tell whether one factor trains and no parameter is behind the other."""
    trains = [graph.operand_trains(product, place) for place in (0, 1)]
    if sum(trains) != 1:
        return False
    other = graph.source(product, trains.index(False))
    return other is None or not any(above.parameters for above in graph.ancestors(other))
