from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LOSS_FITS
from torchwhy.detect.views.graph.graph_queries import (
    TRANSPARENT,
    ForwardGraph,
    base_of,
    elements,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, SourceSpan
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace

LOSSES = ("nll_loss_forward", "nll_loss2d_forward")
NONE_REDUCED = 0  # torch's number for reduction="none": the program may mask the losses itself
LARGE = 0.1  # A share of padding below this hardly moves the mean.
SHORTEST = 2  # zeros in a stretch of padding, on average; a single 0 may be the end of a sentence
ENOUGH_TOKENS = 8  # With fewer, tokens and classes may be as many by chance.


class PaddingCounts(Diagnosis):
    """Padding tokens are among the labels, and the loss counts them."""

    padding: int
    labels: int
    tokens: int
    embedded_at: SourceSpan | None
    message = (
        "{padding} of the {labels} labels are zeros at the end of a row, the padding of the embedding, and the loss "
        "counts them: the model learns to predict padding"
    )
    advice = "leave padding out of the loss: nn.CrossEntropyLoss(ignore_index=0)"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"the embedding of the same {self.tokens} tokens has padding_idx=0",
            location=self.embedded_at,
        )
        yield Evidence(
            f"{self.padding / self.labels:.0%} of the positions that it averages over are padding",
            value=self.padding / self.labels,
        )


class PaddingInLoss(Detector):
    """The loss of a sequence model counts the padding."""

    name = "padding-in-loss"
    question = LOSS_FITS
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        for loss in graph.operations(*LOSSES):
            tokens = loss.input_shapes[0][1] if len(loss.input_shapes[0]) > 1 else 0
            embedding = next(
                (
                    one
                    for one in graph.operations("embedding")
                    if _pads(one, tokens) and _is_shifted(graph, loss, one)
                ),
                None,
            )
            padding, labels = _zeros(loss), elements(loss.input_shapes[1])
            if embedding is None or not _counts_all(loss) or padding < LARGE * labels:
                continue
            if not _end_rows(loss, embedding.input_shapes[1]):
                continue
            diagnosis = PaddingCounts(
                padding=padding, labels=labels, tokens=tokens, embedded_at=embedding.location
            )
            yield self.found(
                trace, diagnosis, severity="warning", step=loss.step, location=loss.location
            )
            return


def _pads(embedding: GraphOperation, tokens: int) -> bool:
    """Tell whether an embedding has as many tokens as the loss has classes, and 0 is its padding."""
    is_same = embedding.input_shapes[0][:1] == [tokens] and tokens >= ENOUGH_TOKENS
    return is_same and embedding.scalars.get("2") == 0


def _is_shifted(graph: ForwardGraph, loss: GraphOperation, embedding: GraphOperation) -> bool:
    """Tell whether the labels are the embedded tokens, each one position later: `x[:, :-1]` and `x[:, 1:]`."""
    given, asked = _slice(graph, embedding), _slice(graph, loss)
    return (
        given is not None
        and asked is not None
        and given.inputs == asked.inputs
        and given.input_shapes == asked.input_shapes
        and (given.scalars.get("1"), asked.scalars.get("1")) == (1, 1)
        and not given.scalars.get("2")
        and asked.scalars.get("2") == 1
    )


def _slice(graph: ForwardGraph, operation: GraphOperation) -> GraphOperation | None:
    """Return the slice of a table that the second operand is, before it was flattened."""
    current: GraphOperation | None = operation
    position = 1
    while current is not None:
        view = graph.view(current, position)
        while view is not None and base_of(view) != "slice":
            view = graph.view(view, 0)
        if view is not None:
            return view
        made = graph.operation(current.inputs[position]) if len(current.inputs) > position else None
        current = made if made is not None and base_of(made) in TRANSPARENT else None
        position = 0
    return None


def _end_rows(loss: GraphOperation, embedded: list[int]) -> bool:
    """Tell whether the zeros among the labels are stretches at the end of rows, and no label is negative."""
    facts = loss.facts[1]
    is_table = len(embedded) == 2 and elements(embedded) == elements(loss.input_shapes[1])
    return (
        is_table
        and facts.zero_runs > 1
        and facts.zeros >= SHORTEST * facts.zero_runs
        and facts.zero_ends % embedded[1] == 0
        and (facts.minimum or 0) >= 0
    )


def _zeros(loss: GraphOperation) -> int:
    """Return how many labels are 0."""
    return loss.facts[1].zeros if len(loss.facts) > 1 else 0


def _counts_all(loss: GraphOperation) -> bool:
    """Tell whether a loss has no weights of classes, reduces by itself, and does not leave out label 0."""
    has_weights = "2" not in loss.scalars
    return not has_weights and loss.scalars.get("3") != NONE_REDUCED and loss.scalars.get("4") != 0
