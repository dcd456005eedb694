from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.dynamics.learning_rate_too_high import failing_births
from torchwhy.detect.checks.standing_questions import STABLE
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.fixes.values import bad_values
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.views.graph.accumulation import undivided_passes
from torchwhy.detect.views.training.history import times, total_size
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.detect.views.training.troubles import Trouble, find_trouble
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Account, Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

EXPLODED = (
    1e3  # Gradient over weight at the first step. Inputs and targets of normal size stay far below.
)
DESTROYED = (
    10.0  # Weights that grow by less than one order of magnitude in the run are not destroyed.
)
REPEATED = 5  # An expression that multiplies this often in a step is a recurrence.
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
    """The gradient is far larger than the weights before any update, and training failed."""

    ratio: float
    expression: str | None
    runs: int
    harm: Diagnosis
    seen_at: int
    message = "{product}{size} before any update; then {harm}"
    advice = "{remedy}; clip_grad_norm_ limits the damage"

    @property
    def remedy(self) -> str:
        """Return what to change: the product that grows, or else the sizes that make the gradient."""
        if self.runs:
            return (
                "keep the product near 1: use an orthogonal initialisation, a gated cell (GRU, LSTM) or a "
                "normalisation"
            )
        return (
            "scale inputs and targets to about 1, and initialise the layers so that their outputs are about as large "
            "as their inputs"
        )

    @property
    def product(self) -> str:
        """Return the expression that multiplies many times, if there is one."""
        return f"`{self.expression}` runs {self.runs} times in a row and " if self.runs else ""

    @property
    def size(self) -> str:
        """Return how large the gradient is."""
        if math.isinf(self.ratio):
            return "the numbers overflow their dtype"
        return f"the gradient is {times(self.ratio)} the weights"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"gradient over weight at the first step: {self.ratio:.3g}",
            value=self.ratio,
            step=self.seen_at,
        )


class ExplodingGradients(Detector):
    """The gradient is enormous at the very first step: a product of many matrices grows with each factor."""

    name = "exploding-gradients"
    question = STABLE
    symptom = "nonfinite"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for training in trainings(trace):
            # The gradients of several passes add up; one of them may be of the usual size.
            passes = undivided_passes(trace, training.made.index)
            ratio = _gradient_ratio(training) / passes
            if ratio < EXPLODED or (ratio == math.inf and not _product_overflowed(trace)):
                continue
            trouble = find_trouble(trace, training)
            if trouble is not None and (
                not trouble.births or ratio == math.inf or _were_destroyed(training)
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
            step=training.first_step,
            location=place or training.made.location,
            evidence=[loss_curve(training)] if len(training.losses) > 1 else [],
            births=trouble.births,
            # A product of many factors explodes whatever its input.
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
    """Tell whether the very first step overflowed after a product of many factors.

    If the product itself overflowed, float-overflow reports that operation.
    """
    births, product = failing_births(trace), _repeated(trace)
    if not births or product is None or births[0].step != 0:
        return False
    where = births[0].location
    apart = where is None or where.line != product[0].line
    return apart and proven(births[0], "float-overflow") is not None


def _were_destroyed(training: Training) -> bool:
    """Tell whether the updates blew up the weights; if they did not, a later NaN has another cause."""
    sizes = [
        total_size(sample.names, sample.weight_rms, training.counts) for sample in training.samples
    ]
    return len(sizes) > 1 and sizes[-1] >= DESTROYED * sizes[0]


def _repeated(trace: Trace) -> tuple[SourceSpan, int] | None:
    """Return the expression with the longest chain of products in one step, and how often it runs."""
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
    """Return the largest number of products of one expression along one path through the graph."""
    depth: dict[int, int] = {}
    for operation in graph:
        above = max((depth.get(order, 0) for order in operation.inputs), default=0)
        own = operation.location == place and _multiplies(operation.op)
        depth[operation.order] = above + own
    return max(depth.values(), default=0)


def _multiplies(op: str) -> bool:
    name = op.split(".")[1] if "." in op else op
    return name in PRODUCTS or name.startswith(RECURRENT)
