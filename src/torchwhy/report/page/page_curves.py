"""Curves of a run: loss, gradient norm, learning rate, memory, losses of trials, thinned to what a page can hold.

A run of a million steps has some fifteen thousand recorded steps. Of each stretch of steps the first, smallest, largest
and last value stay, so that no spike is lost.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from torchwhy.finding import Trial
from torchwhy.record.events import OptimizerDescribed, Weights
from torchwhy.record.learning import Holdings
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.report.page.page_model import LineChart, Series

MOST_POINTS = 600  # of one curve; a screen has about a thousand columns
MOST_RUNS = 4  # optimizers or parameter groups with a curve of their own
MOST_HOLDERS = 6
LOG_RANGE = (
    50.0  # Positive values that differ by more than this factor are drawn on a logarithmic scale.
)
MEGABYTE = 1e6


def training_curves(trace: Trace, failed_at: int | None) -> tuple[LineChart, ...]:
    """Return the loss, the gradient norm and the learning rate of one rank, as far as they were recorded."""
    charts = (
        _chart("loss", "Loss", "loss", _losses(trace), failed_at),
        _chart("gradient-norm", "Gradient norm", "norm", _gradient_norms(trace), failed_at),
        _chart("learning-rate", "Learning rate", "learning rate", _rates(trace), failed_at),
    )
    return tuple(chart for chart in charts if chart is not None)


def _chart(
    name: str, title: str, unit: str, series: Sequence[Series], failed_at: int | None
) -> LineChart | None:
    shown = tuple(one for one in series if len(one.x) > 1)
    if not shown:
        return None
    missing = sum(value is None for one in shown for value in one.y)
    values = "1 recorded value is" if missing == 1 else f"{missing} recorded values are"
    note = f"{values} not finite: no point is drawn there" if missing else ""
    return LineChart(
        name, title, unit, shown, is_log=spans_decades(shown), failed_at=failed_at, note=note
    )


def spans_decades(series: Sequence[Series]) -> bool:
    """Tell whether a logarithmic scale shows the curves better: all values are positive and far apart."""
    values = [value for one in series for value in one.y if value is not None]
    return bool(values) and min(values) > 0 and max(values) > LOG_RANGE * min(values)


def series_of(name: str, points: Sequence[tuple[float, float]]) -> Series:
    """Return a curve of at most `MOST_POINTS` points or so."""
    kept = thinned(points)
    return Series(
        name,
        tuple(x for x, _ in kept),
        tuple(rounded(y) for _, y in kept),
    )


def rounded(value: float) -> float | None:
    """Return a number as a page needs it; None if it is not finite."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the first, smallest, largest and last point of each stretch, and the first that is not finite."""
    if len(points) <= MOST_POINTS:
        return list(points)
    stretches = MOST_POINTS // 4
    kept: list[tuple[float, float]] = []
    for number in range(stretches):
        part = points[number * len(points) // stretches : (number + 1) * len(points) // stretches]
        finite = [place for place in range(len(part)) if math.isfinite(part[place][1])]
        chosen = {0, len(part) - 1}
        if finite:
            chosen |= {min(finite, key=lambda i: part[i][1]), max(finite, key=lambda i: part[i][1])}
        bad = [place for place in range(len(part)) if not math.isfinite(part[place][1])]
        kept += [part[place] for place in sorted(chosen | set(bad[:1]))]
    return kept


def _losses(trace: Trace) -> list[Series]:
    points: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for step in trace.steps:
        closure = trace.closure_losses.get(step.step)
        if step.losses or closure is not None:
            loss = closure if closure is not None else step.losses[-1]
            points[step.optimizer].append((step.step, decode(loss)))
    return _named(points, "loss", "optimizer {}")


def _gradient_norms(trace: Trace) -> list[Series]:
    """Return the norm of all gradients of an optimizer, from their root mean squares at sampled steps."""
    sizes = {
        described.index: {
            name: math.prod(shape)
            for name, shape in zip(described.parameters, described.shapes, strict=False)
        }
        for described in trace.of(OptimizerDescribed)
    }
    points: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for weights in trace.of(Weights):
        known = sizes.get(weights.optimizer, {})
        pairs = zip(weights.names, weights.gradient_rms, strict=False)
        squares = sum(known.get(name, 1) * decode(rms) ** 2 for name, rms in pairs)
        points[weights.optimizer].append((weights.step, math.sqrt(squares)))
    return _named(points, "gradient norm", "optimizer {}")


def _rates(trace: Trace) -> list[Series]:
    """Return the learning rate of each parameter group, as steps: it is recorded when it changes."""
    points: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    last: dict[int, int] = {}
    for step in trace.steps:
        if step.learning_rates is not None:
            for group, rate in enumerate(step.learning_rates):
                curve = points[step.optimizer, group]
                if curve:
                    curve.append((last[step.optimizer], curve[-1][1]))
                curve.append((step.step, math.nan if rate is None else rate))
        last[step.optimizer] = step.step
    for (optimizer, _), curve in points.items():
        curve.append((last[optimizer], curve[-1][1]))
    several = len({optimizer for optimizer, _ in points}) > 1
    named = {
        key: f"optimizer {key[0]}, group {key[1]}" if several else f"group {key[1]}"
        for key in list(points)[:MOST_RUNS]
    }
    return [
        series_of(name if len(points) > 1 else "learning rate", points[key])
        for key, name in named.items()
    ]


def _named(points: dict[int, list[tuple[float, float]]], one: str, several: str) -> list[Series]:
    if len(points) == 1:
        return [series_of(one, next(iter(points.values())))]
    return [series_of(several.format(key), points[key]) for key in sorted(points)[:MOST_RUNS]]


def memory_curve(trace: Trace) -> LineChart | None:
    """Return the bytes that variables of the program hold over the steps; None unless they grow."""
    looks = [look for look in trace.of(Holdings) if look.moment == "step"]
    held: dict[str, dict[int, int]] = defaultdict(dict)
    for look in looks:
        for one in look.held:
            held[one.name][look.step] = one.bytes
    names = sorted(held, key=lambda name: -max(held[name].values()))[:MOST_HOLDERS]
    grows = any(max(held[name].values()) > min(held[name].values()) for name in names)
    if len(looks) < 2 or not grows:
        return None
    series = tuple(
        series_of(name, [(look.step, held[name].get(look.step, 0) / MEGABYTE) for look in looks])
        for name in names
    )
    first, last = looks[0].resident_bytes / MEGABYTE, looks[-1].resident_bytes / MEGABYTE
    return LineChart(
        "memory",
        "Memory by holder",
        "MB",
        series,
        is_stacked=True,
        note=f"the whole process: {first:.0f} MB at step {looks[0].step}, "
        f"{last:.0f} MB at step {looks[-1].step}",
    )


def trial_curve(trial: Trial, name: str) -> LineChart | None:
    """Return the losses without and with a change; None if they were not recorded."""
    curves = (("without it", trial.before_losses), ("with it", trial.after_losses))
    series = tuple(
        series_of(label, list(enumerate(losses))) for label, losses in curves if losses is not None
    )
    if not any(len(one.x) > 1 for one in series):
        return None
    return LineChart(
        name,
        "Loss without and with the change",
        "loss",
        series,
        x_title="recorded losses, oldest first",
        is_log=spans_decades(series),
    )
