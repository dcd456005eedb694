from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LOSS_FITS
from torchwhy.detect.views.graph.graph_queries import (
    ForwardGraph,
    elements,
    expression_of,
    range_given,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace


class ZerosIgnored(Diagnosis):
    """A loss for labels 1 and -1 gets labels 1 and 0: it leaves out the pairs with label 0."""

    loss: str
    zeros: int
    labels: int
    message = (
        "{loss} takes labels 1 and -1, and {zeros} of the {labels} labels are 0, none is -1: "
        "pairs with label 0 add nothing to this loss"
    )
    advice = "if 0 is meant for pairs that do not belong together, use -1: `labels * 2 - 1`"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence("the labels of the observed step lie in 0…1", value=float(self.zeros))


class LabelsWithoutEffect(Detector):
    """A loss leaves out pairs, because their label is 0 where it must be -1."""

    name = "labels-without-effect"
    question = LOSS_FITS
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        for negative in graph.operations("eq"):
            zeros = negative.facts[0].zeros if negative.facts else 0
            is_binary = range_given(negative) == (0, 1)
            if not is_binary or not zeros or not _is_loss_of_signs(graph, negative):
                continue
            diagnosis = ZerosIgnored(
                loss=expression_of(negative.location, "the loss"),
                zeros=zeros,
                labels=elements(negative.input_shapes[0]),
            )
            yield self.found(
                trace, diagnosis, severity="note", step=negative.step, location=negative.location
            )
            return


def _is_loss_of_signs(graph: ForwardGraph, negative: GraphOperation) -> bool:
    """Tell whether torch itself compares the same labels with 1 and with -1, to choose between two terms."""
    if negative.issuer != "torch" or negative.scalars.get("1") != -1:
        return False
    others = [
        one
        for one in graph.operations("eq")
        if one.location == negative.location
        and one.issuer == "torch"
        and one.inputs == negative.inputs
        and one.scalars.get("1") == 1
    ]
    return bool(others)
