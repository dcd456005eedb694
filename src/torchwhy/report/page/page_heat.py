"""Heat maps of layers × steps: gradients, shares of zeros, sizes of activations, at the steps that were measured."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from torchwhy.record.events import Weights
from torchwhy.record.learning import Activation
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.report.page.page_model import HeatMap

MOST_ROWS = 32
MOST_COLUMNS = 36  # A browser draws this many cells in under a tenth of a second.
NOT_FINITE = math.inf  # in a cell

Cells = Mapping[tuple[str, int], float]


def heat_maps(trace: Trace) -> tuple[HeatMap, ...]:
    """Return the maps for which at least two steps were measured."""
    gradients, zeros, sizes = _gradients(trace), _zeros(trace), _sizes(trace)
    maps = (
        _map(
            "gradients", "Gradients of each parameter", "RMS of the gradient", gradients, log=True
        ),
        _map("zeros", "Zeros in each activation", "share of zeros", zeros, log=False),
        _map("activations", "Size of each activation", "RMS of the activation", sizes, log=True),
    )
    return tuple(one for one in maps if one is not None)


def _gradients(trace: Trace) -> dict[tuple[str, int], float]:
    cells = {}
    for weights in trace.of(Weights):
        for name, rms in zip(weights.names, weights.gradient_rms, strict=False):
            cells[name, weights.step] = decode(rms)
    return cells


def _activations(trace: Trace) -> dict[tuple[str, int], list[Activation]]:
    found: dict[tuple[str, int], list[Activation]] = defaultdict(list)
    for view in (trace, *trace.later_observations):
        for one in view.of(Activation):
            place = one.module or (str(one.place) if one.place is not None else "")
            found[f"{place} ({one.op})", one.step].append(one)
    return found


def _zeros(trace: Trace) -> dict[tuple[str, int], float]:
    return {key: max(one.zeros for one in all_) for key, all_ in _activations(trace).items()}


def _sizes(trace: Trace) -> dict[tuple[str, int], float]:
    return {key: _largest(one.rms for one in all_) for key, all_ in _activations(trace).items()}


def _largest(values: object) -> float:
    numbers = [decode(value) for value in values]  # type: ignore[attr-defined]
    return NOT_FINITE if any(not math.isfinite(one) for one in numbers) else max(numbers)


def _map(name: str, title: str, unit: str, cells: Cells, *, log: bool) -> HeatMap | None:
    rows = list(dict.fromkeys(row for row, _ in cells))
    columns = sorted({step for _, step in cells})
    if len(columns) < 2:
        return None
    kept = _chosen_columns(columns, cells)
    groups = _grouped(rows)
    values = tuple(
        tuple(_cell([cells.get((row, step)) for row in group]) for step in kept) for group in groups
    )
    note = _note(len(rows), len(groups), len(columns), len(kept))
    names = tuple(group[0] if len(group) == 1 else f"{group[0]} … {group[-1]}" for group in groups)
    return HeatMap(name, title, unit, names, tuple(kept), values, is_log=log, note=note)


def _cell(values: Sequence[float | None]) -> float | None:
    """Return the largest of several cells; infinity if one is not finite, None if none was measured."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    if not all(map(math.isfinite, known)):
        return NOT_FINITE
    return float(f"{max(known):.3g}")


def _chosen_columns(columns: list[int], cells: Cells) -> list[int]:
    """Return at most `MOST_COLUMNS` steps, evenly spread; the last one and the first bad one are among them."""
    if len(columns) <= MOST_COLUMNS:
        return columns
    places = {round(i * (len(columns) - 1) / (MOST_COLUMNS - 2)) for i in range(MOST_COLUMNS - 1)}
    kept = {columns[place] for place in places}
    bad = min(
        (step for (_, step), value in cells.items() if not math.isfinite(value)), default=None
    )
    return sorted(kept | ({bad} if bad is not None else set()))


def _grouped(rows: list[str]) -> list[list[str]]:
    """Return neighbouring rows together if there are more than a page can show."""
    count = min(len(rows), MOST_ROWS)
    return [rows[i * len(rows) // count : (i + 1) * len(rows) // count] for i in range(count)]


def _note(rows: int, groups: int, columns: int, kept: int) -> str:
    words = []
    if groups < rows:
        words.append(f"{rows} rows in {groups} groups of neighbours, each with its largest value")
    if kept < columns:
        words.append(f"{kept} of {columns} measured steps")
    return "; ".join(words)
