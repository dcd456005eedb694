"""What an optimizer did before the failing step: how large its weights became, and its losses."""

from __future__ import annotations

import math
from itertools import pairwise

from torchwhy.plain_data import dataclass
from torchwhy.record.events import OptimizerDescribed, OptimizerMade, Step, Weights
from torchwhy.record.numbers import decode, is_finite
from torchwhy.record.trace import Trace

RAISED = 5.0  # No schedule raises the learning rate by this factor from one step to the next.
SOON = 5  # A raised learning rate shows its effect within this many steps.
MOST_SHOWN = 6  # A message shows at most this many losses.


@dataclass(frozen=True)
class History:
    """What one optimizer did before the failing step: the RMS of all weights together, and the finite losses."""

    made: OptimizerMade
    updates: int
    sizes: list[tuple[int, float]]
    losses: list[tuple[int, float]]
    rates: list[tuple[int, float]]
    first_gradient: float
    fastest: str

    @property
    def first_rate(self) -> float | None:
        """Return the learning rate of the first step."""
        return self.rates[0][1] if self.rates else None

    @property
    def rate(self) -> float | None:
        """Return the learning rate of the failing step, or the highest one if that was far above it.

        Weights that a high learning rate destroyed stay destroyed at a lower one.
        """
        if not self.rates:
            return None
        last, highest = self.rates[-1][1], max(rate for _, rate in self.rates)
        return highest if highest >= RAISED * last else last

    def rate_at(self, step: int) -> float | None:
        """Return the learning rate of one step: the last one set at or before it."""
        return next(
            (rate for since, rate in reversed(self.rates) if since <= step), self.first_rate
        )

    @property
    def raises(self) -> list[tuple[int, float, float]]:
        """Return the sudden raises of the learning rate, which no schedule makes: step, rate before, rate after."""
        return [
            (step, before, after)
            for (_, before), (step, after) in pairwise(self.rates)
            if after >= RAISED * before
        ]

    def rate_was_raised_before(self, step: int) -> bool:
        """Tell whether the learning rate was raised suddenly in the few steps before `step`."""
        return any(step - SOON <= since < step for since, _, _ in self.raises)

    @property
    def weight_ratio(self) -> float:
        """Return how many times larger the weights are than at the start."""
        first, last = self.sizes[0][1], self.sizes[-1][1]
        return last / first if first else math.inf if last else 1.0

    @property
    def growth_per_step(self) -> float:
        """Return the factor by which the weights grew at each step."""
        steps = self.sizes[-1][0] - self.sizes[0][0]
        return float(self.weight_ratio ** (1 / steps)) if steps else 1.0

    @property
    def loss_ratio(self) -> float:
        """Return how many times larger the last finite loss is than the smallest one."""
        sizes = [abs(loss) for _, loss in self.losses]
        smallest = min(sizes, default=0.0)
        return sizes[-1] / smallest if smallest else 1.0


def history_of(trace: Trace, made: OptimizerMade, failing_step: int) -> History | None:
    """Return what an optimizer did before the failing step; None if it had made no update yet."""
    steps = [
        step
        for step in trace.of(Step)
        if step.optimizer == made.index and step.step <= failing_step
    ]
    samples = [w for w in trace.of(Weights) if w.optimizer == made.index and w.step <= failing_step]
    updates = sum(step.step < failing_step for step in steps)
    if not updates or len(samples) < 2:
        return None
    # The RMS of weights beyond 1e19 is inf in float32; the samples before that show the growth.
    finite = [w for w in samples if all(map(is_finite, w.weight_rms))]
    samples = finite if len(finite) > 1 else samples
    counts = element_counts(trace, made.index)
    of_closures = trace.closure_losses
    last = {step.step: step.losses[-1] for step in steps if step.losses}
    of_steps = {s.step: of_closures[s.step] for s in steps if s.step in of_closures}
    losses = [(step, decode(loss)) for step, loss in sorted({**of_steps, **last}.items())]
    rates = [(step.step, step.rates[0]) for step in steps if step.rates]
    default = made.defaults.get("lr")
    if not rates and isinstance(default, (int, float)):
        rates = [(0, float(default))]
    return History(
        made=made,
        updates=updates,
        sizes=[(w.step, total_size(w.names, w.weight_rms, counts)) for w in samples],
        losses=[(step, loss) for step, loss in losses if math.isfinite(loss)],
        rates=rates,
        first_gradient=total_size(samples[0].names, samples[0].gradient_rms, counts),
        fastest=fastest_growing(samples[0], samples[-1]),
    )


def element_counts(trace: Trace, optimizer: int) -> dict[str, int]:
    """Return the number of elements of each parameter, by name."""
    for described in trace.of(OptimizerDescribed):
        if described.index == optimizer:
            return dict(zip(described.parameters, map(math.prod, described.shapes), strict=True))
    return {}


def total_size(names: list[str], sizes: list[float | str], counts: dict[str, int]) -> float:
    """Return the RMS over all parameters together; inf if one is not finite."""
    squares = [
        counts.get(name, 1) * decode(size) ** 2 for name, size in zip(names, sizes, strict=True)
    ]
    total = math.sqrt(sum(squares) / max(1, sum(counts.get(name, 1) for name in names)))
    return total if math.isfinite(total) else math.inf


def fastest_growing(first: Weights, last: Weights) -> str:
    """Return the parameter that grew most, with its growth: `fc.weight (310×)`."""
    ratios = {
        name: decode(after) / decode(before) if decode(before) else 0.0
        for name, before, after in zip(first.names, first.weight_rms, last.weight_rms, strict=False)
    }
    if not ratios:
        return "no parameter"
    name = max(ratios, key=lambda key: ratios[key])
    if (
        ratios[name] == 0
    ):  # All parameters start at 0, as in a linear model: name the largest at the end.
        sizes = dict(zip(last.names, map(decode, last.weight_rms), strict=False))
        return max(sizes, key=lambda key: sizes[key]) + " (from 0)"
    return f"{name} ({times(ratios[name])})"


def times(ratio: float) -> str:
    """Return a factor as `310×`."""
    return f"{ratio:.3g}×" if math.isfinite(ratio) else "∞×"


def curve_of(values: list[float]) -> str:
    """Return `1.2 → 3e+04 → 7e+08`; a long curve is cut to its first value and the last few."""
    texts = [f"{value:.3g}" for value in values]
    if len(texts) > MOST_SHOWN:
        texts = [texts[0], "…", *texts[-(MOST_SHOWN - 1) :]]
    return " → ".join(texts)
