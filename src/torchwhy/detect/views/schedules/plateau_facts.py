"""What a program gives `ReduceLROnPlateau`: does the number rise or fall as the model improves?"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.detect.views.training.rates import RateHistory
from torchwhy.detect.views.training.training import trainings
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Step
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import PlateauMetrics

ENOUGH = 4  # numbers given to a scheduler
DISTINCT = 3  # different ones among them
# A number of float64 that is k/n to this precision is a share of n samples. Others are as close to a fraction with a
# denominator of up to 20 000 once in 10 000 times.
EXACT, MOST_SAMPLES = 1e-13, 20_000
ROUNDED, FEW_SAMPLES = 4e-8, 1_000  # the same for numbers that were float32
RISE = 0.1  # of the range from 0 to 1
GUESSED = 0.5  # Half the accuracy of a guess: who is right more rarely does not overfit, he knows the labels.
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
CLASSES = ("nll_loss_forward", "nll_loss2d_forward")
STEADY = 0.7  # share of steps in one direction


@dataclass(frozen=True)
class WrongWay:
    """A scheduler that takes improvement for a plateau: the numbers it got, and the cuts it made meanwhile."""

    seen: PlateauMetrics
    samples: int | None
    classes: int | None
    cuts: int
    first_cut: int


def cut_while_improving(trace: Trace, history: RateHistory) -> WrongWay | None:
    """Return the numbers that improved while the scheduler cut the learning rate for want of improvement."""
    own = {one.index for one in history.schedulers}
    trained = [one for one in trainings(trace) if one.made.index == history.optimizer]
    if not any(one.fell for one in trained):
        return None
    for seen in trace.of(PlateauMetrics):
        if seen.index not in own or len(seen.values) < ENOUGH or len(set(seen.values)) < DISTINCT:
            continue
        cuts = [step for (_, before), (step, after) in pairwise(history.rates) if after < before]
        if not cuts:
            continue
        samples = share_of(seen.values)
        classes = _classes(trace)
        if (
            seen.mode == "min"
            and samples is not None
            and classes
            and _rises(seen.values, samples, classes)
        ):
            return WrongWay(seen, samples, classes, len(cuts), cuts[0])
        if seen.mode == "max" and _falls(seen.values) and _are_losses(trace, seen):
            return WrongWay(seen, None, None, len(cuts), cuts[0])
    return None


def _classes(trace: Trace) -> int | None:
    """Return the number of classes of the only loss with classes; None if there is none, or several."""
    graph = ForwardGraph(trace)
    found = {
        2 if base_of(loss) in BINARY else loss.input_shapes[0][1]
        for loss in graph.operations(*BINARY, *CLASSES)
        if base_of(loss) in BINARY or len(loss.input_shapes[0]) > 1
    }
    return found.pop() if len(found) == 1 else None


def _are_losses(trace: Trace, seen: PlateauMetrics) -> bool:
    """Tell whether the numbers are losses that the run went back from, each that of the step before the call."""
    losses = {event.step + 1: [decode(one) for one in event.losses] for event in trace.of(Step)}
    known = [
        any(math.isclose(value, one, rel_tol=ROUNDED) for one in losses[step])
        for step, value in zip(seen.steps, seen.values, strict=True)
        if step in losses
    ]
    return len(known) >= ENOUGH and all(known)


def share_of(values: list[float]) -> int | None:
    """Return the number of samples that all values are shares of, as accuracies are; None if there is none."""
    whole = 100 if max(values) > 1 else 1
    if min(values) < 0 or max(values) > whole:
        return None
    for precision, most in ((EXACT, MOST_SAMPLES), (ROUNDED, FEW_SAMPLES)):
        shares = [Fraction(value / whole).limit_denominator(most) for value in values]
        is_close = all(
            abs(value / whole - float(one)) <= precision
            for value, one in zip(values, shares, strict=True)
        )
        samples = math.lcm(*(one.denominator for one in shares))
        if is_close and 1 < samples <= most:
            return samples
    return None


def _rises(values: list[float], samples: int, classes: int) -> bool:
    """Tell whether shares rise, from the first to the last and in the mean of both halves, and cannot be error rates.

    An error rate rises by overfitting, too, but only to that of a guess.
    """
    whole = 100 if max(values) > 1 else 1
    half = len(values) // 2
    first, last = sum(values[:half]) / half, sum(values[-half:]) / half
    rise = (values[-1] - values[0]) / whole
    beats_guess = last / whole >= 1 - GUESSED / classes
    return samples > 1 and rise >= RISE and last > first and beats_guess


def _falls(values: list[float]) -> bool:
    """Tell whether numbers above 0 fall steadily, as a loss does."""
    falls = sum(after < before for before, after in pairwise(values))
    return (
        min(values) > 0
        and values[-1] <= (1 - RISE) * values[0]
        and falls >= STEADY * (len(values) - 1)
    )
