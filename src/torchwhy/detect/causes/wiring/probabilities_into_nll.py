from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of, expression_of
from torchwhy.finding import Evidence, Finding, Fix, Severity
from torchwhy.record.learning import GraphOperation
from torchwhy.record.tensors import TensorFacts
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

ABOVE_ZERO = 1e-3  # a logarithm of a probability is at most 0; in half precision rounding may lift it by this much


class ProbabilitiesIntoNll(Detector):
    """The negative log-likelihood gets numbers that are no logarithms of probabilities."""

    name = "probabilities-into-nll"
    needs = frozenset({"graph"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        for loss, source, facts in _log_probabilities(graph):
            verdict = self._judge(source, facts) if graph.trains(source) else None
            if verdict is None:
                continue
            severity, what = verdict
            evidence = [
                Evidence(
                    f"they come from {expression_of(source.location, 'the model')}",
                    step=loss.step,
                    location=source.location,
                )
            ]
            known = (
                facts if base_of(loss) != "sub" else None
            )  # of a divergence only the sign is known
            if known is not None and known.minimum is not None and known.maximum is not None:
                evidence.append(
                    Evidence(
                        f"they lie in {known.minimum:.3g}…{known.maximum:.3g}, and log-probabilities are at most 0",
                        step=loss.step,
                    )
                )
            yield Finding(
                detector=self.name,
                severity=severity,
                message=f"this loss expects logarithms of probabilities and gets {what}",
                step=loss.step,
                rank=trace.rank,
                location=loss.location,
                evidence=tuple(evidence),
                fixes=(Fix(_cure(loss), safety="show-only"),),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from modules.log_in_place(finding, source)

    @staticmethod
    def _judge(source: GraphOperation, facts: TensorFacts | None) -> tuple[Severity, str] | None:
        if base_of(source) in ("_softmax", "_safe_softmax", "sigmoid"):
            return "warning", "the probabilities themselves"
        if (
            base_of(source) == "_log_softmax"
            or facts is None
            or facts.maximum is None
            or facts.maximum <= ABOVE_ZERO
        ):
            return None
        return "error", "numbers above 0, so it has no lower bound"


def _cure(loss: GraphOperation) -> str:
    if base_of(loss) == "sub":
        return "give it log_softmax of the logits"
    return "give it log_softmax of the logits, or give the logits to cross_entropy"


def _log_probabilities(
    graph: ForwardGraph,
) -> Iterator[tuple[GraphOperation, GraphOperation, TensorFacts | None]]:
    """Yield each loss that takes log-probabilities, what made them, and what is known of them."""
    for loss in graph.operations("nll_loss_forward", "nll_loss2d_forward", "_ctc_loss"):
        source = graph.source(loss)
        if source is not None:
            yield loss, source, loss.facts[0] if loss.facts else None
    for difference in graph.operations("sub"):
        yield from _divergence(graph, difference)


def _divergence(
    graph: ForwardGraph, difference: GraphOperation
) -> Iterator[tuple[GraphOperation, GraphOperation, TensorFacts | None]]:
    """Yield the operand of a `kl_div`, which torch computes as `xlogy(target, target) - target * input`.

    Where the target is a logarithm itself, it is `exp(target) * (target - input)`.
    """
    sources = graph.sources(difference)
    entropy, product = sources if len(sources) == 2 else (None, None)
    if entropy is not None and product is not None and base_of(entropy) == "xlogy":
        if base_of(product) != "mul" or len(set(entropy.inputs)) > 1:
            return
        targets = set(entropy.inputs)
        given = [n for n, order in enumerate(product.inputs) if order not in targets]
        source = graph.source(product, given[0]) if len(given) == 1 else None
        if source is not None and difference.location == product.location:
            # The range of the product is not that of the operand, but a target is never negative: the sign is its own.
            facts = difference.facts[1] if len(difference.facts) > 1 else None
            above = facts is not None and (facts.maximum or 0.0) > ABOVE_ZERO
            yield difference, source, facts if above else None
        return
    source = sources[1] if len(sources) == 2 else None
    weights = [
        graph.source(taken, place)
        for taken in graph.taken_by(difference)
        if base_of(taken) == "mul" and taken.location == difference.location
        for place in range(len(taken.inputs))
    ]
    is_weighted = any(
        one is not None and base_of(one) == "exp" and one.inputs[:1] == difference.inputs[:1]
        for one in weights
    )
    if source is not None and is_weighted and difference.inputs[0] != -1:
        yield difference, source, difference.facts[1] if len(difference.facts) > 1 else None
