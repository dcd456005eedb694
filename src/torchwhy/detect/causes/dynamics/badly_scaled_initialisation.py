from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import SIZES
from torchwhy.detect.fixes.training import initial
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.detect.views.nonfinite.operand_facts import LARGEST, output_type
from torchwhy.detect.views.training.network_facts import (
    SQUASHERS,
    TOO_SMALL,
    activations,
    constant_output,
    initial_gains,
    last_observed_step,
)
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.detect.views.training.troubles import Trouble, find_trouble
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Account, Evidence, Finding, Fix, Severity
from torchwhy.record.learning import ParameterSeen
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

TOO_LARGE = 4.0  # Weight RMS × √inputs; nn.Linear starts at 0.58, Kaiming at 1.41, the gain for tanh is 1.67.
SATURATED = 0.4  # Healthy starts saturate less than 0.01 of a hidden layer.
WORSE = 10.0  # At this many times the loss of guessing after half of the run, the model still unlearns its start.
REDUCTION = "3"  # The index of nll_loss_forward's `reduction` argument.
MEAN = 1  # Its value for `reduction="mean"`.


class SaturatedAtStart(Diagnosis):
    """A hidden layer is saturated before any training."""

    share: float
    op: str
    message = "{share:.0%} of a {op} layer is saturated before any training"


class WorseThanGuessing(Diagnosis):
    """The loss is far above that of guessing in the second half of the run."""

    level: float
    guess: float
    message = (
        "the loss is {level:.3g} in the second half of the run; guessing would give {guess:.3g}"
    )


class SignalFaded(Diagnosis):
    """The output no longer depends on the input."""

    message = "the output no longer depends on the input, and the loss does not fall"


class StartMisfits(Diagnosis):
    """The RMS of a layer's weights times √inputs is far from 1, and this did harm."""

    name: str
    inputs: int
    size: float
    gain: float
    harm: Diagnosis
    message = (
        "{name} starts too {large}: weights of about {size:.2g} over {inputs} inputs make each unit about "
        "{gain:.2g}× the input; {harm}"
    )
    advice = (
        "initialise with nn.init.xavier_normal_ or kaiming_normal_ (std about {fitting:.2g} here), "
        "or keep PyTorch's default"
    )

    @property
    def large(self) -> str:
        """Return `large` or `small`."""
        return "large" if self.gain > 1 else "small"

    @property
    def fitting(self) -> float:
        """Return the standard deviation that keeps the layer's output as large as its input."""
        return 1 / math.sqrt(self.inputs)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"RMS of {self.name} × √{self.inputs} is {self.gain:.3g}; 0.6 to 1.7 is usual",
            value=self.gain,
        )


class BadlyScaledInitialisation(Detector):
    """The initial weights are too large or too small for their layer: signals saturate, explode or fade."""

    name = "badly-scaled-initialisation"
    question = SIZES

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for training in trainings(trace):
            gains = initial_gains(trace, training)
            if not gains:
                continue
            worst, gain = max(gains, key=lambda pair: pair[1])
            middle = median(size for _, size in gains)
            if gain >= TOO_LARGE:
                yield from self._too_large(trace, training, worst, gain)
            elif middle <= TOO_SMALL and len(gains) > 1:
                yield from self._too_small(trace, training, gains)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from initial.better(finding.location, source)

    def _too_large(
        self, trace: Trace, training: Training, worst: ParameterSeen, gain: float
    ) -> Iterator[Finding]:
        flat = [a for a in activations(trace, 0, SQUASHERS) if a.saturated >= SATURATED]
        if flat and not trace.alarms:
            harm = SaturatedAtStart(share=max(a.saturated for a in flat), op=flat[0].op)
            severity: Severity = "error" if training.never_learnt else "warning"
            yield self._finding(trace, training, worst, gain, harm=harm, severity=severity)
            return
        guess = self._worse_than_guessing(trace, training, worst, gain)
        trouble = find_trouble(trace, training)
        gains = [max(1.0, gain) for _, gain in initial_gains(trace, training)]
        if trouble is not None and trouble.excess and len(gains) > 1 and not _at_once(trouble):
            account = Account(trouble.excess, math.prod(gains) ** 2, otherwise=guess)
            found = self._finding(
                trace, training, worst, gain, harm=trouble.harm, severity="error", account=account
            )
            yield replace(found, births=trouble.births)
        elif trouble is not None and _overflowed_at_once(trace, trouble, gains):
            found = self._finding(trace, training, worst, gain, harm=trouble.harm, severity="error")
            yield replace(found, births=trouble.births)
        elif guess is not None:
            yield guess

    def _worse_than_guessing(
        self, trace: Trace, training: Training, worst: ParameterSeen, gain: float
    ) -> Finding | None:
        guess = _guessing(trace)
        if trace.alarms or not guess or not training.is_judged:
            return None
        level = median(training.tail)
        if level < WORSE * guess:
            return None
        harm = WorseThanGuessing(level=level, guess=guess)
        return self._finding(trace, training, worst, gain, harm=harm, severity="warning")

    def _too_small(
        self, trace: Trace, training: Training, gains: list[tuple[ParameterSeen, float]]
    ) -> Iterator[Finding]:
        step = last_observed_step(trace)
        if not training.never_learnt or step is None or constant_output(trace, step) is None:
            return
        worst, gain = min(gains, key=lambda pair: pair[1])
        yield self._finding(trace, training, worst, gain, harm=SignalFaded(), severity="error")

    def _finding(
        self,
        trace: Trace,
        training: Training,
        worst: ParameterSeen,
        gain: float,
        *,
        harm: Diagnosis,
        severity: Severity,
        account: Account | None = None,
    ) -> Finding:
        diagnosis = StartMisfits(
            name=worst.name,
            inputs=math.prod(worst.shape[1:]),
            size=decode(worst.rms),
            gain=gain,
            harm=harm,
        )
        return self.found(
            trace,
            diagnosis,
            severity=severity,
            step=training.first_step,
            location=worst.made_at or training.made.location,
            evidence=[loss_curve(training)] if len(training.losses) > 1 else [],
            account=account or Account(),
        )


def _guessing(trace: Trace) -> float:
    """Return ln C, the mean cross entropy of guessing among C classes; 0 if the loss is another one."""
    graph = ForwardGraph(trace)
    root = next((one for one in graph.losses if one.order is not None), None)
    loss = graph.operation(root.order) if root is not None else None
    if loss is None or base_of(loss) != "nll_loss_forward" or loss.scalars.get(REDUCTION) != MEAN:
        return 0.0
    scores = loss.input_shapes[0] if loss.input_shapes else []
    return math.log(scores[-1]) if scores and scores[-1] > 1 else 0.0


def _overflowed_at_once(trace: Trace, trouble: Trouble, gains: list[float]) -> bool:
    """Tell whether the first step overflowed and the layers alone make numbers whose square overflows."""
    first = next((one for one in trace.births if one.id in trouble.births), None)
    if first is None or not _at_once(trouble) or proven(first, "float-overflow") is None:
        return False
    limit = LARGEST.get(output_type(first), math.inf)
    return len(gains) > 1 and math.prod(gains) >= math.sqrt(limit)


def _at_once(trouble: Trouble) -> bool:
    """Tell whether the very first step failed, before any update."""
    return bool(trouble.births) and trouble.step == 0
