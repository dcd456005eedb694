from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.memory import memory
from torchwhy.detect.views.memory.growth import (
    MEGABYTE,
    Growth,
    collect_facts,
    growths,
    in_words,
    is_window,
    memory_facts,
    per_thousand,
    place_name,
    without_outer_holders,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import Held, Holdings
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

LEAST_BYTES_PER_STEP = (
    1000  # a megabyte in a thousand steps; detached losses, 4 bytes each, stay far below
)
NOTED_BYTES = (
    64 * MEGABYTE
)  # from here on a collection that is used after all is still worth a note
LEAST_TENSORS = 8  # a few large tensors are no collection that somebody forgot
MADE_AT_ONCE = (
    100  # tensors in a collection that no statement grows: made by one call or comprehension
)


class GrowingCollection(Detector):
    """A collection gets more tensors with every step, and nobody takes them out or looks at them."""

    name = "growing-collection"
    needs = frozenset({"holdings"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        told = set()
        for growth in without_outer_holders(list(growths(trace, _bare_tensors))):
            if is_leak(growth):
                told.add((growth.held.name, growth.held.function))
                yield about_growth(growth, trace, self.name)
        for look, held in still_held(trace):
            if (held.name, held.function) not in told:
                yield about_collect(look, held, trace=trace, detector=self.name)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from memory.let_go(finding, source)


def _bare_tensors(held: Held) -> int:
    return 0 if held.kind == "tensor" else held.tensors - held.with_graph


def is_leak(growth: Growth) -> bool:
    """Tell whether the growth goes on, costs something, and the program neither bounds nor uses it."""
    held = growth.held
    if growth.unit != "step" or not growth.continues or held.grown_at is None:
        return False
    if is_window(held) or held.emptied_at is not None:
        return False
    if growth.bytes_per_tick < LEAST_BYTES_PER_STEP:
        return False
    return held.read_at is None or held.bytes >= NOTED_BYTES


def about_growth(growth: Growth, trace: Trace, detector: str) -> Finding:
    """Return the finding about something that grows with every step."""
    held = growth.held
    unused = (
        "nothing in the program uses or removes the old ones"
        if held.read_at is None
        else "none is ever removed"
    )
    series = ", ".join(f"{value} after step {tick}" for tick, value in growth.points)
    facts = [
        Evidence(
            f"tensors in `{held.name}`: {series}",
            value=float(growth.last),
            step=growth.step,
            series=tuple(float(value) for _, value in growth.points),
        ),
        Evidence(
            f"{per_thousand(growth)}; {held.bytes / MEGABYTE:.3g} MB now",
            value=growth.bytes_per_tick,
        ),
        *memory_facts(growth),
        _what_frees(held),
        *collect_facts(trace, held),
    ]
    return Finding(
        detector=detector,
        severity="warning" if held.read_at is None else "note",
        message=f"{place_name(held)} keeps {growth.last} tensors after {growth.ticks} steps, "
        f"{in_words(growth)}, {per_thousand(growth)}; {unused}",
        step=growth.step,
        rank=trace.rank,
        location=held.grown_at,
        evidence=tuple(facts),
        fixes=(_advice(held),),
    )


def still_held(trace: Trace) -> Iterator[tuple[Holdings, Held]]:
    """Yield what the program referred to when it last tried to free memory, and does not use afterwards."""
    looks = [look for look in trace.of(Holdings) if look.moment == "collect"]
    known = set()
    for look in reversed(looks):
        for held in look.held:
            key = held.name, held.function
            if key not in known and _is_forgotten(held):
                known.add(key)
                yield look, held


def _is_forgotten(held: Held) -> bool:
    if held.grown_at is None or held.read_later or is_window(held) or held.kind == "tensor":
        return False
    if held.bytes < MEGABYTE or held.tensors < LEAST_TENSORS:
        return False
    return is_grown(held) or held.tensors >= MADE_AT_ONCE


def is_grown(held: Held) -> bool:
    """Tell `tensors.append(x)` and `cache[key] = x` from `tensors = make()`."""
    expression = held.grown_at.expression or "" if held.grown_at is not None else ""
    leaf = held.name.rsplit(".", 1)[-1]
    return not expression.startswith((f"{leaf} =", f"{held.name} =", f"{leaf}: "))


def about_collect(look: Holdings, held: Held, *, trace: Trace, detector: str) -> Finding:
    """Return the finding about tensors that were to be freed and cannot be."""
    call = (
        look.call.expression if look.call is not None and look.call.expression else "gc.collect()"
    )
    facts = (
        Evidence(
            f"after `{call}` `{held.name}` still held {held.tensors} tensors, {held.bytes / MEGABYTE:.3g} MB",
            value=float(held.tensors),
            location=look.call,
        ),
        Evidence(
            f"the process had {look.resident_bytes / MEGABYTE:.4g} MB in use then",
            value=float(look.resident_bytes),
        ),
        _what_frees(held),
    )
    return Finding(
        detector=detector,
        severity="warning",
        message=f"`{call}` cannot free the {held.tensors} tensors ({held.bytes / MEGABYTE:.3g} MB) that "
        f"{place_name(held)} still refers to",
        step=look.step if trace.steps else None,
        rank=trace.rank,
        location=held.grown_at,
        evidence=facts,
        fixes=(_advice(held),),
    )


def _what_frees(held: Held) -> Evidence:
    return Evidence(
        f"the {held.kind} `{held.name}` refers to them: taking them out frees them at once; gc.collect(), "
        "empty_cache() and `del` of another name free nothing that is still referred to"
    )


def _advice(held: Held) -> Fix:
    bounded = (
        " or bound it, `collections.deque(maxlen=…)`" if held.kind in ("list", "deque") else ""
    )
    title = f"let go of what is no longer needed, `{held.name}.clear()`{bounded}"
    return Fix(title, safety="show-only")
