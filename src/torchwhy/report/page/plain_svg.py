"""Charts as plain SVG, without any library: for pages without the extra, and for small drawings in all of them.

Colours are classes of the page's style sheet, so that drawings follow light and dark. All text is escaped here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import pairwise

from torchwhy.printable import printable
from torchwhy.report.page.page_model import Chart, HeatMap, Histogram, Lane, LineChart

WIDTH, HEIGHT = 640, 220
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 10, 34
ROW = 16
TICKS = 4
LONGEST_LABEL = 28
Scale = Callable[[float], float]


def chart_svg(chart: Chart) -> str:
    """Return a line chart or a heat map."""
    return _lines(chart) if isinstance(chart, LineChart) else _heat_map(chart)


def svg(width: float, height: float, parts: Iterable[str], label: str) -> str:
    """Return a drawing that a screen reader reads as an image with a label."""
    text = escape(printable(label), quote=True)
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f'<svg class="plain" role="img" aria-label="{text}" {size}>{"".join(parts)}</svg>'


def _text(x: float, y: float, words: str, *, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(printable(words))}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _lines(chart: LineChart) -> str:
    drawn = _stacked(chart) if chart.is_stacked else [(one.x, one.y) for one in chart.series]
    xs = [x for x_values, _ in drawn for x in x_values]
    ys = [y for _, y_values in drawn for y in y_values if y is not None]
    if not ys:
        return svg(WIDTH, HEIGHT, (), chart.title)
    low, high = (0.0 if chart.is_stacked else min(ys)), max(ys)
    x_at = _scale(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    y_at = _scale(low, high, HEIGHT - BOTTOM, TOP, is_log=chart.is_log)
    parts = []
    for value in _ticks(low, high, is_log=chart.is_log):
        parts.append(_line(LEFT, y_at(value), WIDTH - RIGHT, y_at(value), "grid"))
        parts.append(_text(LEFT - 6, y_at(value) + 4, f"{value:.3g}", anchor="end"))
    parts += [
        _text(x_at(value), HEIGHT - BOTTOM + 16, f"{value:.7g}")
        for value in _ticks(min(xs), max(xs))
    ]
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 2, chart.x_title))
    for number, (x_values, y_values) in enumerate(drawn):
        parts += (
            f'<path class="curve c{number % 6}" d="{stretch}"/>'
            for stretch in _paths(x_values, y_values, x_at, y_at)
        )
    if chart.failed_at is not None and min(xs) <= chart.failed_at <= max(xs):
        parts.append(
            _line(x_at(chart.failed_at), TOP, x_at(chart.failed_at), HEIGHT - BOTTOM, "bad")
        )
    return svg(WIDTH, HEIGHT, parts, f"{chart.title}, {low:.3g} to {high:.3g}")


def _stacked(chart: LineChart) -> list[tuple[Sequence[float], Sequence[float | None]]]:
    """Return the curves, each above the sum of those before it."""
    sums: dict[float, float] = {}
    stacked: list[tuple[Sequence[float], Sequence[float | None]]] = []
    for one in chart.series:
        for x, y in zip(one.x, one.y, strict=True):
            sums[x] = sums.get(x, 0.0) + (y or 0.0)
        stacked.append((one.x, [sums[x] for x in one.x]))
    return stacked


def _scale(low: float, high: float, start: float, end: float, *, is_log: bool = False) -> Scale:
    bend: Scale = math.log10 if is_log else float
    first, last = bend(low), bend(high)

    def place(value: float) -> float:
        if last == first:
            return (start + end) / 2
        return start + (bend(value) - first) / (last - first) * (end - start)

    return place


def _ticks(low: float, high: float, *, is_log: bool = False) -> list[float]:
    if low == high:
        return [low]
    if is_log:
        first, last = math.log10(low), math.log10(high)
        return [10 ** (first + (last - first) * i / TICKS) for i in range(TICKS + 1)]
    return [low + (high - low) * i / TICKS for i in range(TICKS + 1)]


def _paths(
    x_values: Sequence[float], y_values: Sequence[float | None], x_at: Scale, y_at: Scale
) -> list[str]:
    """Return one path for each stretch without a gap."""
    stretches: list[list[str]] = [[]]
    for x, y in zip(x_values, y_values, strict=True):
        if y is None:
            stretches.append([])
        else:
            stretches[-1].append(f"{x_at(x):.1f},{y_at(y):.1f}")
    return ["M" + "L".join(points) for points in stretches if points]


def _heat_map(chart: HeatMap) -> str:
    left, width = 200, WIDTH - 200 - RIGHT
    cell = width / max(len(chart.columns), 1)
    known = [v for row in chart.values for v in row if v is not None and math.isfinite(v)]
    is_log = chart.is_log and bool([v for v in known if v > 0])
    usable = [v for v in known if v > 0] if is_log else known
    share = _scale(min(usable, default=0.0), max(usable, default=1.0), 0, 1, is_log=is_log)
    parts = []
    for number, (name, values) in enumerate(zip(chart.rows, chart.values, strict=True)):
        y = TOP + number * ROW
        parts.append(_text(left - 6, y + 12, _cut(name), anchor="end"))
        for place, value in enumerate(values):
            if value is None:
                continue
            kind = "h" + _tone(value, share, is_log=is_log)
            parts.append(
                f'<rect class="{kind}" x="{left + place * cell:.1f}" y="{y}" width="{cell:.1f}" height="{ROW - 1}"/>'
            )
    height = TOP + len(chart.rows) * ROW + BOTTOM
    for place in sorted({0, len(chart.columns) // 2, len(chart.columns) - 1}):
        x = left + (place + 0.5) * cell
        parts.append(_text(x, height - BOTTOM + 14, str(chart.columns[place])))
    parts.append(_text(left + width / 2, height - 4, "step"))
    return svg(WIDTH, height, parts, f"{chart.title}: {chart.unit}")


def _tone(value: float, share: Scale, *, is_log: bool) -> str:
    if not math.isfinite(value):
        return "bad"
    if is_log and value <= 0:
        return "0"
    return str(min(9, int(share(value) * 10)))


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_LABEL else "…" + name[1 - LONGEST_LABEL :]


def histogram_svg(histogram: Histogram) -> str:
    """Return bars, with a red line at each value where the result went bad."""
    width, height, floor = 300, 120, 96
    high = max(histogram.counts, default=1) or 1
    bar = (width - 8) / max(len(histogram.counts), 1)
    parts = [
        f'<rect class="bar" x="{4 + i * bar:.1f}" y="{floor - max(1.5, count / high * 84):.1f}" '
        f'width="{bar - 1:.1f}" height="{max(1.5, count / high * 84):.1f}"/>'
        for i, count in enumerate(histogram.counts)
        if count
    ]
    x_at = _scale(histogram.low, histogram.high, 4, width - 4)
    parts += [
        _line(x_at(mark), 4, x_at(mark), floor, "bad")
        for mark in histogram.marks
        if histogram.low <= mark <= histogram.high
    ]
    parts.append(_line(4, floor, width - 4, floor, "axis"))
    parts.append(_text(4, height - 8, f"{histogram.low:.4g}", anchor="start"))
    parts.append(_text(width - 4, height - 8, f"{histogram.high:.4g}", anchor="end"))
    return svg(width, height, parts, f"histogram of {histogram.title}")


def curve_svg(values: Sequence[float | None], label: str) -> str:
    """Return a small curve; a red line stands where a value is not finite."""
    width, height = 300, 90
    known = [value for value in values if value is not None]
    x_at = _scale(0, max(len(values) - 1, 1), 4, width - 4)
    y_at = _scale(min(known, default=0.0), max(known, default=0.0), height - 6, 6)
    paths = _paths(list(range(len(values))), values, x_at, y_at)
    bad = [place for place, value in enumerate(values) if value is None]
    parts = [f'<path class="curve c0" d="{path}"/>' for path in paths]
    parts += [_line(x_at(place), 4, x_at(place), height - 4, "bad") for place in bad]
    return svg(width, height, parts, label)


def lanes_svg(lanes: Sequence[Lane]) -> str:
    """Return one bar for each rank, with a red mark where it failed."""
    left, most = 70, max((lane.steps for lane in lanes), default=1) or 1
    x_at = _scale(0, most, left, WIDTH - RIGHT)
    parts = []
    for number, lane in enumerate(lanes):
        y = TOP + number * 24
        parts.append(_text(left - 8, y + 13, f"rank {lane.rank}", anchor="end"))
        length = max(x_at(lane.steps) - left, 1)
        parts.append(f'<rect class="bar" x="{left}" y="{y}" width="{length:.1f}" height="16"/>')
        parts += [
            f'<circle class="dot-bad" cx="{min(x_at(step + 1), WIDTH - RIGHT):.1f}" cy="{y + 8}" r="6">'
            f"<title>{escape(printable(words))} at step {step}</title></circle>"
            for step, words in lane.moments
        ]
    return svg(WIDTH, TOP * 2 + len(lanes) * 24, parts, f"{len(lanes)} ranks and their steps")


def path_svg(stations: Sequence[tuple[int, float]], height: float) -> str:
    """Return the path through the source; `stations` are (number, height) in the order of the path."""
    x, reach = 44, 30
    parts = []
    for (number, start), (_, end) in pairwise(stations):
        bend = x - 8 - max(6, reach - 5 * number)
        parts.append(
            f'<path class="path" d="M{x},{start:g}C{bend},{start:g} {bend},{end:g} {x - 9},{end:g}"/>'
            f'<path class="arrow" d="M{x - 9},{end:g}l-7,-4l0,8z"/>'
        )
    for number, y in stations:
        kind = "dot-bad" if number == 1 else "dot"
        parts.append(f'<circle class="{kind}" cx="{x}" cy="{y:g}" r="9"/>')
        parts.append(
            f'<text class="number" x="{x}" y="{y + 4:g}" text-anchor="middle">{number}</text>'
        )
    size = f'viewBox="0 0 56 {height:g}" width="56" height="{height:g}"'
    return f'<svg class="plain way" aria-hidden="true" {size}>{"".join(parts)}</svg>'
