"""What grows, and whether it grows with every step: read off the rare looks at what the program holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from torchwhy.detect.views.memory.held_variables import holdings
from torchwhy.finding import Evidence
from torchwhy.record.learning import Held, Holdings
from torchwhy.record.trace import Trace

LOOKS = 4  # at doubling steps: something that grows over four of them has grown eightfold
BATCH_LOOKS = 3  # no weights change and nothing is learned between batches of an evaluation, so three are enough
LEAST_GROWTH = 8  # tensors or operations; what grows by less is nobody's trouble
ROUNDING = 1.5  # something added every few steps is up to one behind or ahead of the straight line
SHARE = 0.02  # counts of very long collections are reckoned from a part, to about this share
LEAST_RESIDENT = 4_000_000  # the memory of a process moves by this much for reasons of its own
STEADY = 0.5  # of what a straight line would have added since the look before the last
MEGABYTE = 1_000_000
# `x.pop(0)`, `x.remove(y)`, `x = x[-100:]`, and the target of `del x[0]`
TAKES_OUT = re.compile(
    r"\.(pop|popleft|popitem|discard|remove)\(|= .*\[[^\]]*:[^\]]*\]$|^[\w.]+\[[^\]]*\]$"
)

PUTS_IN = re.compile(
    r"\.(append|appendleft|extend|extendleft|insert|add|update|setdefault)\(|[-+*/|]=|\]\s*="
)

Point = tuple[int, int]


@dataclass(frozen=True)
class Growth:
    """A variable that grew in proportion to the steps (or batches), and what became of it."""

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
        """Return the step or batch of the last look at the growth."""
        return self.points[-1][0]

    @property
    def resident_per_tick(self) -> float:
        """Return by how much the process grew each step, 0 where that was not in proportion to the steps.

        Libraries take memory in the first steps and keep it, so the last doubling must have its share.
        """
        grown = self.residents[-1] - self.residents[0]
        span = self.ticks - self.points[0][0]
        last_share = (self.ticks - self.points[-2][0]) / span
        late = self.residents[-1] - self.residents[-2]
        is_steady = grown >= LEAST_RESIDENT and late >= STEADY * last_share * grown
        return grown / span if is_steady else 0.0

    @property
    def cost_per_tick(self) -> float:
        """Return the bytes that each step takes, as far as they can be measured."""
        return max(self.bytes_per_tick, self.resident_per_tick)


def growths(trace: Trace, size: Callable[[Held], int]) -> Iterator[Growth]:
    """Yield the variables whose `size` grows with the steps, or with the batches between two steps."""
    looks = [look for look in holdings(trace) if look.moment in ("step", "exit")]
    yield from _growths(looks, size, clock=lambda look: look.step, least=LOOKS, unit="step")
    stretches: dict[tuple[int, int], list[Holdings]] = {}
    for look in holdings(trace):
        if look.moment == "batch":
            stretches.setdefault((look.step, look.backwards), []).append(look)
    for stretch in stretches.values():
        yield from _growths(
            stretch, size, clock=lambda look: look.batches, least=BATCH_LOOKS, unit="batch"
        )


def without_outer_holders(found: list[Growth]) -> list[Growth]:
    """Drop what holds the same tensors only because it holds who keeps them: `callbacks` for `callback.metrics`.

    Of several variables with one and the same curve, the statement that puts something in tells who grows.
    """
    own = {growth.points for growth in found if _puts_in(growth.held)}
    return [growth for growth in found if _puts_in(growth.held) or growth.points not in own]


def _puts_in(held: Held) -> bool:
    expression = held.grown_at.expression or "" if held.grown_at is not None else ""
    return PUTS_IN.search(expression) is not None


def _growths(
    looks: list[Holdings],
    size: Callable[[Held], int],
    *,
    clock: Callable[[Holdings], int],
    least: int,
    unit: str,
) -> Iterator[Growth]:
    for key in _variables(looks):
        series = list(_series(looks, key, clock))
        points = [(tick, 0 if held is None else size(held)) for tick, held, _ in series]
        first, last = longest_line(points)
        if last - first + 1 < least or points[last][1] - points[first][1] < LEAST_GROWTH:
            continue
        (tick_a, held_a, look_a), (tick_b, held_b, _) = series[first], series[last]
        assert held_b is not None, "a count above nothing has a holder"
        ticks = tick_b - tick_a
        yield Growth(
            held=held_b,
            points=tuple(points[first : last + 1]),
            per_tick=(points[last][1] - points[first][1]) / ticks,
            # A program that is stopped in the middle may leave the line at its end, and still have gone up.
            continues=all(value > points[last][1] for _, value in points[last + 1 :]),
            bytes_per_tick=(held_b.bytes - (held_a.bytes if held_a else 0)) / ticks,
            residents=tuple(look.resident_bytes for _, _, look in series[first : last + 1]),
            unit=unit,
            step=look_a.step if look_a.backwards else None,
        )


def _variables(looks: list[Holdings]) -> list[tuple[str, str | None]]:
    return list(dict.fromkeys((held.name, held.function) for look in looks for held in look.held))


def _series(
    looks: list[Holdings], key: tuple[str, str | None], clock: Callable[[Holdings], int]
) -> Iterator[tuple[int, Held | None, Holdings]]:
    """Yield one count per look; at the end of the program the variables of functions are gone, and say nothing."""
    known = -1
    for look in looks:
        held = next((one for one in look.held if (one.name, one.function) == key), None)
        if clock(look) > known and not (held is None and look.moment == "exit"):
            known = clock(look)
            yield known, held, look


def longest_line(points: list[Point]) -> tuple[int, int]:
    """Return the first and last index of the longest stretch that rises in a straight line, the last such one."""
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
    """Tell whether the program itself keeps the collection small: a bounded deque, or old entries taken out."""
    expression = held.emptied_at.expression or "" if held.emptied_at is not None else ""
    return held.kind.startswith("deque(") or TAKES_OUT.search(expression) is not None


def plural(unit: str) -> str:
    """Return `steps` or `batches`."""
    return f"{unit}es" if unit == "batch" else f"{unit}s"


def per_thousand(growth: Growth) -> str:
    """Return how much memory a thousand steps take, as far as it can be measured."""
    return f"{growth.cost_per_tick * 1000 / MEGABYTE:.3g} MB per 1000 {plural(growth.unit)}"


def rate_words(rate: float, unit: str) -> str:
    """Return `one more each step`, or how many."""
    if abs(rate - 1) < 0.05:
        return f"one more each {unit}"
    if rate > 1:
        return f"{rate:.3g} more each {unit}"
    return f"one more every {1 / rate:.3g} {plural(unit)}"


def memory_facts(growth: Growth) -> Iterator[Evidence]:
    """Yield what the process as a whole shows, where that is more than noise."""
    grown = growth.resident_per_tick * (growth.ticks - growth.points[0][0])
    if grown:
        yield Evidence(
            f"meanwhile the memory of the process grew by {grown / MEGABYTE:.3g} MB, "
            f"{growth.resident_per_tick * 1000 / MEGABYTE:.3g} MB per 1000 {growth.unit}s",
            value=growth.resident_per_tick,
        )


def collect_facts(trace: Trace, held: Held) -> Iterator[Evidence]:
    """Yield that the program called gc.collect() or the like, which does not help."""
    looks = [look for look in holdings(trace) if look.moment == "collect" and look.call is not None]
    if not looks:
        return
    last = looks[-1]
    left = next((o for o in last.held if (o.name, o.function) == (held.name, held.function)), held)
    times = f"{last.calls} times" if last.calls > 1 else "once"
    yield Evidence(
        f"`{last.call.expression if last.call else 'gc.collect()'}` ran {times} and freed none of them: "
        f"`{held.name}` still refers to {left.tensors}",
        value=float(left.tensors),
        step=last.step,
        location=last.call,
    )


def place_name(name: str, function: str | None) -> str:
    """Return a variable, with the function or class it lives in where that is not the script itself."""
    if function is None:
        return f"`{name}`"
    return f"`{name}` {'of' if '.' in name else 'in'} {function}"
