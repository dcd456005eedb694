from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.memory import memory
from torchwhy.detect.views.memory.growth import (
    MEGABYTE,
    Growth,
    collect_facts,
    growths,
    is_window,
    memory_facts,
    per_thousand,
    place_name,
    rate_words,
    without_outer_holders,
)
from torchwhy.detect.views.memory.held_variables import holdings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import Held, Holdings
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

LEAST_BYTES_PER_STEP = (
    1000  # A megabyte in a thousand steps; detached losses, 4 bytes each, stay far below.
)
NOTED_BYTES = (
    64 * MEGABYTE
)  # A collection of this size is worth a note even if the program uses it.
LEAST_TENSORS = 8  # A few large tensors are not a forgotten collection.
MADE_AT_ONCE = 100  # A collection that one call or comprehension makes must have this many tensors.


class TensorsKept(Diagnosis):
    """A collection keeps tensors that the program no longer needs."""

    variable: str
    function: str | None
    kind_of: str  # The type of the collection: list, dict …
    tensors: int
    size_bytes: int

    @property
    def where(self) -> str:
        """Return the variable with its function or class."""
        return place_name(self.variable, self.function)

    @property
    def megabytes(self) -> float:
        """Return the size of its tensors."""
        return self.size_bytes / MEGABYTE

    @property
    def remedies(self) -> tuple[str, ...]:
        is_bounded = self.kind_of in ("list", "deque")
        bound = " or bound it, `collections.deque(maxlen=…)`" if is_bounded else ""
        return (f"remove tensors that are no longer needed, `{self.variable}.clear()`{bound}",)

    @property
    def what_frees(self) -> Evidence:
        """Return what would free the tensors, and what would not."""
        return Evidence(
            f"the {self.kind_of} `{self.variable}` refers to them: removing them frees them at once; gc.collect(), "
            "empty_cache() and `del` of another name free no tensor that is still referenced"
        )


class CollectionGrows(TensorsKept):
    """A collection gets more tensors with every step."""

    steps: int
    per_step: float
    bytes_per_step: float
    is_read: bool
    message = (
        "{where} keeps {tensors} tensors after {steps} steps, {rate}, {cost_per_thousand:.3g} MB per 1000 steps; "
        "{use}"
    )

    @property
    def rate(self) -> str:
        """Return how fast it grows."""
        return rate_words(self.per_step, "step")

    @property
    def cost_per_thousand(self) -> float:
        """Return the megabytes that a thousand steps add."""
        return self.bytes_per_step * 1000 / MEGABYTE

    @property
    def use(self) -> str:
        """Return whether the program uses the tensors."""
        return (
            "none is ever removed"
            if self.is_read
            else "the program never uses or removes the old ones"
        )


class NotFreed(TensorsKept):
    """The program tries to free memory while a collection still refers to its tensors."""

    call: str
    called_at: SourceSpan | None
    resident_bytes: int
    message = "`{call}` cannot free the {tensors} tensors ({megabytes:.3g} MB) that {where} still refers to"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"after `{self.call}` `{self.variable}` still held {self.tensors} tensors, {self.megabytes:.3g} MB",
            value=float(self.tensors),
            location=self.called_at,
        )
        yield Evidence(
            f"the process used {self.resident_bytes / MEGABYTE:.4g} MB at that time",
            value=float(self.resident_bytes),
        )
        yield self.what_frees


class GrowingCollection(Detector):
    """A collection gets more tensors with every step, and the program neither removes nor uses them."""

    name = "growing-collection"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        reported = set()
        for growth in without_outer_holders(list(growths(trace, _bare_tensors))):
            if is_leak(growth):
                reported.add((growth.held.name, growth.held.function))
                yield self._growing(growth, trace)
        for snapshot, held in still_held(trace):
            if (held.name, held.function) not in reported:
                yield self._not_freed(snapshot, held, trace)

    def _growing(self, growth: Growth, trace: Trace) -> Finding:
        held = growth.held
        diagnosis = CollectionGrows(
            variable=held.name,
            function=held.function,
            kind_of=held.kind,
            tensors=growth.last,
            size_bytes=held.bytes,
            steps=growth.ticks,
            per_step=growth.per_tick,
            bytes_per_step=growth.cost_per_tick,
            is_read=held.read_at is not None,
        )
        return self.found(
            trace,
            diagnosis,
            severity="note" if diagnosis.is_read else "warning",
            step=growth.step,
            location=held.grown_at,
            evidence=[
                *curve_of(growth),
                *memory_facts(growth),
                diagnosis.what_frees,
                *collect_facts(trace, held),
            ],
        )

    def _not_freed(self, snapshot: Holdings, held: Held, trace: Trace) -> Finding:
        call = snapshot.call
        diagnosis = NotFreed(
            variable=held.name,
            function=held.function,
            kind_of=held.kind,
            tensors=held.tensors,
            size_bytes=held.bytes,
            call=(call.expression if call is not None else None) or "gc.collect()",
            called_at=call,
            resident_bytes=snapshot.resident_bytes,
        )
        return self.found(
            trace,
            diagnosis,
            severity="warning",
            step=snapshot.step if trace.steps else None,
            location=held.grown_at,
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case NotFreed(called_at=place):
                yield from memory.let_go(finding.location, source, collected=place, is_read=True)
            case CollectionGrows(is_read=is_read):
                yield from memory.let_go(finding.location, source, collected=None, is_read=is_read)


def _bare_tensors(held: Held) -> int:
    return 0 if held.kind == "tensor" else held.tensors - held.with_graph


def is_leak(growth: Growth) -> bool:
    """Tell whether the growth continues and costs memory, and the program neither bounds nor uses the collection."""
    held = growth.held
    if growth.unit != "step" or not growth.continues or held.grown_at is None:
        return False
    if is_window(held) or held.emptied_at is not None:
        return False
    if growth.bytes_per_tick < LEAST_BYTES_PER_STEP:
        return False
    return held.read_at is None or held.bytes >= NOTED_BYTES


def curve_of(growth: Growth) -> Iterator[Evidence]:
    """Yield the number of tensors at each snapshot, and the memory they take."""
    held = growth.held
    series = ", ".join(f"{value} after step {tick}" for tick, value in growth.points)
    yield Evidence(
        f"tensors in `{held.name}`: {series}",
        value=float(growth.last),
        step=growth.step,
        series=tuple(float(value) for _, value in growth.points),
    )
    yield Evidence(
        f"{per_thousand(growth)}; {held.bytes / MEGABYTE:.3g} MB now", value=growth.bytes_per_tick
    )


def still_held(trace: Trace) -> Iterator[tuple[Holdings, Held]]:
    """Yield the variables that held tensors when the program tried to free memory, and that it never reads later."""
    snapshots = [one for one in holdings(trace) if one.moment == "collect"]
    found = set()
    for snapshot in reversed(snapshots):
        for held in snapshot.held:
            key = held.name, held.function
            if key not in found and _is_forgotten(held):
                found.add(key)
                yield snapshot, held


def _is_forgotten(held: Held) -> bool:
    if held.grown_at is None or held.read_later or is_window(held) or held.kind == "tensor":
        return False
    if held.bytes < MEGABYTE or held.tensors < LEAST_TENSORS:
        return False
    return is_grown(held) or held.tensors >= MADE_AT_ONCE


def is_grown(held: Held) -> bool:
    """Tell whether statements grow the collection (`tensors.append(x)`), unlike one that makes it (`tensors = f()`)."""
    expression = held.grown_at.expression or "" if held.grown_at is not None else ""
    leaf = held.name.rsplit(".", 1)[-1]
    return not expression.startswith((f"{leaf} =", f"{held.name} =", f"{leaf}: "))
