from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import checkpoints, graphs
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.rules.message_kinds import FreedGraph
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class FreedEarlier(Diagnosis):
    """A backward pass goes through a graph that an earlier one freed; which one is unknown."""

    call: str
    message = "`{call}` goes through a graph that an earlier backward pass freed"
    advice = "detach values carried over from an earlier iteration, or recompute them"


class GraphCarriedOver(Diagnosis):
    """A value still holds the graph of the previous iteration."""

    name: str  # the value
    held_as: str  # the name to detach; an attribute if a module holds the state
    call: str
    made_at: SourceSpan | None
    message = (
        "`{name}` still holds the graph of the previous iteration, so `{call}` goes back into it, "
        "but the backward pass of that iteration freed it"
    )
    advice = "cut the graph between iterations: `{held_as}.detach()`"

    def evidence(self) -> Iterator[Evidence]:
        if self.made_at is not None:
            yield Evidence(
                f"`{self.name}` got its value in the previous iteration", location=self.made_at
            )


class SumCarriedOver(GraphCarriedOver):
    """A sum of losses still holds the graphs of the previous iterations."""

    advice = "call `backward()` on the loss of this iteration alone, and add its `.item()` to `{held_as}`"


class CollectionCarriedOver(GraphCarriedOver):
    """A collection still holds the graphs of the previous iterations."""

    advice = "detach each tensor in `{held_as}` before the next iteration uses it"


class ComputedBeforeLoop(Diagnosis):
    """A value was computed once, and the backward pass of every iteration goes through it."""

    name: str
    call: str
    made_at: SourceSpan | None
    message = (
        "`{name}` was computed once, before the loop, so every `{call}` goes back through it, "
        "but the first one freed its graph"
    )

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            f"compute `{self.name}` inside the loop, or use `{self.name}.detach()` if it needs no gradient",
            "add up the losses in the loop, and call `backward()` once on their sum after it",
        )

    def evidence(self) -> Iterator[Evidence]:
        if self.made_at is not None:
            yield Evidence(f"`{self.name}` got its value before the loop", location=self.made_at)


class SentTwice(Diagnosis):
    """The program calls `backward()` twice on one loss."""

    loss: str
    message = (
        "`backward()` ran twice on `{loss}` in one iteration, but the first pass frees its graph"
    )
    advice = "remove the second backward pass"


class TwoLossesShare(Diagnosis):
    """Two losses come from the same values, and each has a backward pass of its own."""

    first: str
    second: str
    shared: str | None
    message = "`{first}` and `{second}` both come from {values}, but the first backward pass freed that graph"

    @property
    def values(self) -> str:
        """Return the value that both losses come from."""
        return f"`{self.shared}`" if self.shared is not None else "the same values"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            f"run one backward pass for both: `({self.first} + {self.second}).backward()`",
            "keep the graph for the second pass: `retain_graph=True` in the first `backward`",
        )


class SharedGraphFreed(Diagnosis):
    """A backward pass goes back through a value whose graph an earlier one freed."""

    call: str
    shared: str
    message = "`{call}` goes back through `{shared}`, whose graph an earlier backward pass freed"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            f"use `{self.shared}.detach()` for the loss that should not train what made it",
            "keep the graph for this pass: `retain_graph=True` in the earlier `backward`",
        )


class GraphFreed(Detector):
    """A backward pass went through a graph that an earlier backward pass had freed."""

    name = "graph-freed"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if not isinstance(crash.said, FreedGraph):
                continue
            diagnosis = diagnosed(crash)
            diff = crash.fact("diff") if type(diagnosis) is GraphCarriedOver else None
            cut = [Fix(title, diff=diff) for title in diagnosis.remedies] if diff else []
            yield crash.finding(
                self.name,
                diagnosis,
                evidence=_first_pass(crash),
                location=crash.place("carried"),
                cures=cut,
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from checkpoints.not_reentrant(source)
        place = finding.location
        match finding.diagnosis:
            case ComputedBeforeLoop(name=name, made_at=made):
                yield from graphs.detached_in_the_loop(place, source, name=name)
                yield from graphs.computed_in_the_loop(place, source, made=made)
            case GraphCarriedOver(name=name):
                yield from graphs.carried_state(place, source, name=name)
            case TwoLossesShare(shared=str(shared)) | SharedGraphFreed(shared=shared):
                yield from graphs.detached_for_the_first(place, source, shared=shared)
        yield from statements.cut_between_steps(place, source)


def diagnosed(crash: CrashView) -> Diagnosis:
    """Return how the backward pass reached a freed graph."""
    call, name = crash.expression, str(crash.fact("carried"))
    first, second, shared = (crash.fact(key) for key in ("first", "second", "shared"))
    match crash.fact("way"):
        case "loop" | "module" as way:
            held = str(crash.fact("attribute")) if way == "module" else name
            return _carried(crash)(name=name, held_as=held, call=call, made_at=crash.place("made"))
        case "before-loop":
            return ComputedBeforeLoop(name=name, call=call, made_at=crash.place("made"))
        case "twice" if first == second:
            return SentTwice(loss=str(first))
        case "twice":
            return TwoLossesShare(first=str(first), second=str(second), shared=shared)
        case "shared":
            return SharedGraphFreed(call=call, shared=str(shared))
    return FreedEarlier(call=call)


def _carried(crash: CrashView) -> type[GraphCarriedOver]:
    if crash.has("is_sum"):
        return SumCarriedOver
    return CollectionCarriedOver if crash.has("is_collection") else GraphCarriedOver


def _first_pass(crash: CrashView) -> list[Evidence]:
    first = crash.place("first")
    return [Evidence("the first backward pass is here", location=first)] if first else []
