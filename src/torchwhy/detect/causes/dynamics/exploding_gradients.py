from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.dynamics.learning_rate_too_high import failing_births
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.fixes.values import bad_values
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.views.training.history import times, total_size
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.detect.views.training.troubles import Trouble, find_trouble
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Account, Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

EXPLODED = 1e3  # gradient over weight at the first step, with inputs and targets of normal size
THROWN = 10.0  # growth of the weights in the run; what stays within one order of magnitude was not thrown away
REPEATED = 5  # times one expression multiplies in a step before it counts as a recurrence
PRODUCTS = {
    "mm",
    "addmm",
    "bmm",
    "baddbmm",
    "matmul",
    "linear",
    "mv",
    "_thnn_fused_gru_cell",
    "_thnn_fused_lstm_cell",
}
RECURRENT = ("lstm", "gru", "rnn")


class GradientExplodes(Diagnosis):
    """A gradient far larger than the weights before any update, and what became of training."""

    ratio: float
    expression: str | None
    runs: int
    harm: Diagnosis
    seen_at: int
    message = "{product}{size} before any update was made; then {harm}"
    advice = (
        "keep the product near 1: orthogonal initialisation, a gated cell (GRU, LSTM), a normalisation; "
        "clip_grad_norm_ limits the damage"
    )

    @property
    def product(self) -> str:
        """Return the product of many factors, if one was seen."""
        return f"`{self.expression}` runs {self.runs} times in a row and " if self.runs else ""

    @property
    def size(self) -> str:
        """Return how large the gradient is."""
        if math.isinf(self.ratio):
            return "the numbers leave the range of their type"
        return f"the gradient is {times(self.ratio)} the weights"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"gradient over weight at the first step: {self.ratio:.3g}",
            value=self.ratio,
            step=self.seen_at,
        )


class ExplodingGradients(Detector):
    """The gradient is enormous at the very first step: a product of many matrices grows with every factor."""

    name = "exploding-gradients"
    symptom = "nonfinite"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for training in trainings(trace):
            ratio = _gradient_ratio(training)
            if ratio < EXPLODED or (ratio == math.inf and not _product_overflowed(trace)):
                continue
            trouble = find_trouble(trace, training)
            if trouble is not None and (
                not trouble.births or ratio == math.inf or _were_thrown(training)
            ):
                yield self._finding(trace, training, trouble, ratio)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.clip(finding.location, source)
        yield from bad_values.bounded_state(finding.location, source)

    def _finding(self, trace: Trace, training: Training, trouble: Trouble, ratio: float) -> Finding:
        place, count = _repeated(trace) or (None, 0)
        diagnosis = GradientExplodes(
            ratio=ratio,
            expression=place.expression if place is not None else None,
            runs=count,
            harm=trouble.harm,
            seen_at=training.samples[0].step,
        )
        return self.found(
            trace,
            diagnosis,
            severity="error",
            step=0,
            location=place or training.made.location,
            evidence=[loss_curve(training)] if len(training.losses) > 1 else [],
            births=trouble.births,
            # A product of many factors explodes whatever it is given.
            account=None if place is not None else Account(),
        )


def _gradient_ratio(training: Training) -> float:
    if not training.samples:
        return 0.0
    sample = training.samples[0]
    weights = total_size(sample.names, sample.weight_rms, training.counts)
    return (
        total_size(sample.names, sample.gradient_rms, training.counts) / weights if weights else 0.0
    )


def _product_overflowed(trace: Trace) -> bool:
    """Tell whether the very first step left the range of numbers behind a product of many factors that itself did not.

    Where the product is what overflowed, that operation speaks for itself.
    """
    births, product = failing_births(trace), _repeated(trace)
    if not births or product is None or births[0].step != 0:
        return False
    where = births[0].location
    apart = where is None or where.line != product[0].line
    return apart and proven(births[0], "float-overflow") is not None


def _were_thrown(training: Training) -> bool:
    """Tell whether the updates changed the weights beyond recognition; if not, a later NaN is not their work."""
    sizes = [
        total_size(sample.names, sample.weight_rms, training.counts) for sample in training.samples
    ]
    return len(sizes) > 1 and sizes[-1] >= THROWN * sizes[0]


def _repeated(trace: Trace) -> tuple[SourceSpan, int] | None:
    """Return the expression that multiplies its own result most often in one step, and how often it runs."""
    graph = sorted(
        (o for o in trace.of(GraphOperation) if o.step == 0), key=lambda operation: operation.order
    )
    products = [o for o in graph if o.location is not None and _multiplies(o.op)]
    places = Counter(o.location for o in products)
    often = [place for place, count in places.items() if place and count >= REPEATED]
    chains = {place: _longest_chain(graph, place) for place in often}
    place = max(often, key=lambda place: (chains[place], places[place]), default=None)
    return (place, places[place]) if place is not None and chains[place] >= REPEATED else None


def _longest_chain(graph: list[GraphOperation], place: SourceSpan) -> int:
    """Return how many products of one expression lie on one way through the graph: each fed by the one before."""
    depth: dict[int, int] = {}
    for operation in graph:
        above = max((depth.get(order, 0) for order in operation.inputs), default=0)
        own = operation.location == place and _multiplies(operation.op)
        depth[operation.order] = above + own
    return max(depth.values(), default=0)


def _multiplies(op: str) -> bool:
    name = op.split(".")[1] if "." in op else op
    return name in PRODUCTS or name.startswith(RECURRENT)
