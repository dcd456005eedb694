"""Can the loss be what it is? Entropies and divergences are never negative."""

from __future__ import annotations

from torchwhy.detect.checks import recorded_facts as facts
from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.views.graph.graph_queries import ForwardGraph
from torchwhy.detect.views.losses.bounded_losses import bounded_losses, is_whole_loss
from torchwhy.detect.views.training.training import trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.trace import Trace

OF_ONE = {"overlap", "cosine"}  # formulas that are subtracted from 1


class LowestLoss(Diagnosis):
    """The lowest loss of the run, and the formula that bounds it if it is one."""

    formula: str | None
    lowest: float
    message = "{shown}"

    @property
    def shown(self) -> str:
        """Return the lowest loss beside its bound."""
        if self.formula is None:
            return f"the lowest loss is {self.lowest:.4g}, and its formula has no lower bound that we know"
        named = f"1 minus a {self.formula}" if self.formula in OF_ONE else f"a {self.formula}"
        return f"the lowest loss is {self.lowest:.4g}, and {named} is never below 0"


def lowest_loss(trace: Trace) -> Diagnosis | None:
    """Return the lowest loss of the longest training."""
    longest = max(trainings(trace), key=lambda one: len(one.losses), default=None)
    if longest is None or not longest.losses:
        return None
    graph = ForwardGraph(trace)
    formula = next((b.formula for b in bounded_losses(graph) if is_whole_loss(graph, b)), None)
    return LowestLoss(formula=formula, lowest=min(longest.values))


QUESTION = ask(
    "possible-loss",
    "Can the loss be what it is?",
    facts.GRAPH,
    facts.STEPS,
    by=lowest_loss,
)
