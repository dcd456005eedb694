"""Variables that grow in proportion to the steps, found by comparing snapshots of what the program holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from torchwhy.detect.views.memory.held_variables import holdings
from torchwhy.finding import Evidence
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import Held, Holdings
from torchwhy.record.trace import Trace

FEWEST_SNAPSHOTS = (
    4  # Snapshots come at doubling steps: a line through four of them spans an eightfold growth.
)
FEWEST_OF_BATCHES = 3  # Three suffice between batches of an evaluation, where nothing else changes.
LEAST_GROWTH = 8  # Tensors or operations; a smaller growth does no harm.
ROUNDING = 1.5  # A variable that grows every few steps is up to one entry off the straight line.
SHARE = 0.02  # Counts of very long collections are extrapolated from a part, with about this error.
LEAST_RESIDENT = 4_000_000  # The memory of a process changes by this many bytes for other reasons.
STEADY = 0.5  # The last interval must add this share of what a straight line would add.
MEGABYTE = 1_000_000
# Matches `x.pop(0)`, `x.remove(y)`, `x = x[-100:]`, and the target of `del x[0]`.
TAKES_OUT = re.compile(
    r"\.(pop|popleft|popitem|discard|remove)\(|= .*\[[^\]]*:[^\]]*\]$|^[\w.]+\[[^\]]*\]$"
)

PUTS_IN = re.compile(
    r"\.(append|appendleft|extend|extendleft|insert|add|update|setdefault)\(|[-+*/|]=|\]\s*="
)

Point = tuple[int, int]


@dataclass(frozen=True)
class Growth:
    """A variable that grew in proportion to the steps or batches; `continues` if it grew to the end of the run."""

    held: Held
    points: tuple[Point, ...]
    per_tick: float
    continues: bool
    bytes_per_tick: float
    residents: tuple[int, ...]
    unit: str = "step"
    step: int | None = 0

    @property
    def last(self) -> int:
        """Return the highest count."""
        return self.points[-1][1]

    @property
    def ticks(self) -> int:
        """Return the step or batch of the last snapshot of the growth."""
        return self.points[-1][0]

    @property
    def resident_per_tick(self) -> float:
        """Return by how many bytes the process grew per step; 0 if it did not grow in proportion to the steps.

        Libraries allocate memory in the first steps and keep it, so the process must still grow in the last interval.
        """
        grown = self.residents[-1] - self.residents[0]
        span = self.ticks - self.points[0][0]
        last_share = (self.ticks - self.points[-2][0]) / span
        late = self.residents[-1] - self.residents[-2]
        is_steady = grown >= LEAST_RESIDENT and late >= STEADY * last_share * grown
        return grown / span if is_steady else 0.0

    @property
    def cost_per_tick(self) -> float:
        """Return the bytes that each step adds, by the tensors or by the process, whichever is more."""
        return max(self.bytes_per_tick, self.resident_per_tick)


def growths(trace: Trace, size: Callable[[Held], int]) -> Iterator[Growth]:
    """Yield the variables whose `size` grows with the steps, or with the batches between two steps."""
    snapshots = [one for one in holdings(trace) if one.moment in ("step", "exit")]
    yield from _growths(
        snapshots, size, clock=lambda one: one.step, least=FEWEST_SNAPSHOTS, unit="step"
    )
    stretches: dict[tuple[int, int], list[Holdings]] = {}
    for one in holdings(trace):
        if one.moment == "batch":
            stretches.setdefault((one.step, one.backwards), []).append(one)
    for stretch in stretches.values():
        yield from _growths(
            stretch, size, clock=lambda one: one.batches, least=FEWEST_OF_BATCHES, unit="batch"
        )


def without_outer_holders(found: list[Growth]) -> list[Growth]:
    """Return the growths without the variables that only hold the owner: `callbacks` beside `callback.metrics`.

    Of several variables with the same curve, the one that a statement adds entries to is the one that grows.
    """
    own = {growth.points for growth in found if _puts_in(growth.held)}
    return [growth for growth in found if _puts_in(growth.held) or growth.points not in own]


def _puts_in(held: Held) -> bool:
    expression = held.grown_at.expression or "" if held.grown_at is not None else ""
    return PUTS_IN.search(expression) is not None


def _growths(
    snapshots: list[Holdings],
    size: Callable[[Held], int],
    *,
    clock: Callable[[Holdings], int],
    least: int,
    unit: str,
) -> Iterator[Growth]:
    for key in _variables(snapshots):
        series = list(_series(snapshots, key, clock))
        points = [(tick, 0 if held is None else size(held)) for tick, held, _ in series]
        first, last = longest_line(points)
        if last - first + 1 < least or points[last][1] - points[first][1] < LEAST_GROWTH:
            continue
        (tick_a, held_a, start), (tick_b, held_b, _) = series[first], series[last]
        assert held_b is not None, "a count above nothing has a holder"
        ticks = tick_b - tick_a
        yield Growth(
            held=held_b,
            points=tuple(points[first : last + 1]),
            per_tick=(points[last][1] - points[first][1]) / ticks,
            # A program that stops in the middle may leave the straight line at its end and still have grown.
            continues=all(value > points[last][1] for _, value in points[last + 1 :]),
            bytes_per_tick=(held_b.bytes - (held_a.bytes if held_a else 0)) / ticks,
            residents=tuple(one.resident_bytes for _, _, one in series[first : last + 1]),
            unit=unit,
            step=start.step if start.backwards else None,
        )


def _variables(snapshots: list[Holdings]) -> list[tuple[str, str | None]]:
    return list(dict.fromkeys((held.name, held.function) for one in snapshots for held in one.held))


def _series(
    snapshots: list[Holdings], key: tuple[str, str | None], clock: Callable[[Holdings], int]
) -> Iterator[tuple[int, Held | None, Holdings]]:
    """Yield what each snapshot has of a variable; without the snapshot at exit if a local is gone by then."""
    last = -1
    for snapshot in snapshots:
        held = next((one for one in snapshot.held if (one.name, one.function) == key), None)
        if clock(snapshot) > last and not (held is None and snapshot.moment == "exit"):
            last = clock(snapshot)
            yield last, held, snapshot


def longest_line(points: list[Point]) -> tuple[int, int]:
    """Return the first and last index of the longest stretch that rises in a straight line; of several, the last."""
    best = (0, 0)
    for first in range(len(points)):
        last = first
        while last + 1 < len(points) and _is_line(points[first : last + 2]):
            last += 1
        if last - first >= best[1] - best[0] and last > first:
            best = (first, last)
    return best


def _is_line(points: list[Point]) -> bool:
    (start, low), (end, high) = points[0], points[-1]
    slope = (high - low) / (end - start)
    allowed = max(ROUNDING, SHARE * (high - low))
    rises = all(after[1] >= before[1] for before, after in pairwise(points))
    return (
        slope > 0
        and rises
        and all(abs(low + slope * (tick - start) - value) <= allowed for tick, value in points)
    )


def is_window(held: Held) -> bool:
    """Tell whether the program bounds the collection itself: with a bounded deque, or by removing old entries."""
    expression = held.emptied_at.expression or "" if held.emptied_at is not None else ""
    return held.kind.startswith("deque(") or TAKES_OUT.search(expression) is not None


def plural(unit: str) -> str:
    """Return `steps` or `batches`."""
    return f"{unit}es" if unit == "batch" else f"{unit}s"


def per_thousand(growth: Growth) -> str:
    """Return how much memory a thousand steps add: `40 MB per 1000 steps`."""
    return f"{growth.cost_per_tick * 1000 / MEGABYTE:.3g} MB per 1000 {plural(growth.unit)}"


def rate_words(rate: float, unit: str) -> str:
    """Return `one more each step`, `3 more each step` or `one more every 5 steps`."""
    if abs(rate - 1) < 0.05:
        return f"one more each {unit}"
    if rate > 1:
        return f"{rate:.3g} more each {unit}"
    return f"one more every {1 / rate:.3g} {plural(unit)}"


def memory_facts(growth: Growth) -> Iterator[Evidence]:
    """Yield the growth of the process as evidence, if it is more than noise."""
    grown = growth.resident_per_tick * (growth.ticks - growth.points[0][0])
    if grown:
        yield Evidence(
            f"meanwhile the memory of the process grew by {grown / MEGABYTE:.3g} MB, "
            f"{growth.resident_per_tick * 1000 / MEGABYTE:.3g} MB per 1000 {growth.unit}s",
            value=growth.resident_per_tick,
        )


def collect_facts(trace: Trace, held: Held) -> Iterator[Evidence]:
    """Yield the evidence that the program called `gc.collect()` or similar and freed nothing."""
    calls = [one for one in holdings(trace) if one.moment == "collect" and one.call is not None]
    if not calls:
        return
    last = calls[-1]
    left = next((o for o in last.held if (o.name, o.function) == (held.name, held.function)), held)
    times = f"{last.calls} times" if last.calls > 1 else "once"
    yield Evidence(
        f"`{last.call.expression if last.call else 'gc.collect()'}` ran {times} and freed none of them: "
        f"`{held.name}` still references {left.tensors}",
        value=float(left.tensors),
        step=last.step,
        location=last.call,
    )


def place_name(name: str, function: str | None) -> str:
    """Return a variable with its function or class, unless it is a global of the script."""
    return f"`{name}`" if function is None else f"`{name}` (in {function})"
