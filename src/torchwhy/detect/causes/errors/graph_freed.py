from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import graphs
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.rules.message_kinds import FreedGraph
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class FreedEarlier(Diagnosis):
    """A backward pass goes through a graph that an earlier one has freed; which one is not known."""

    call: str
    message = "`{call}` goes through a graph that an earlier backward pass has freed"
    advice = "detach what is carried over from an earlier iteration, or compute it anew"


class GraphCarriedOver(Diagnosis):
    """A value still holds the graph of the iteration before."""

    name: str  # of the value
    held_as: str  # where it is to be detached: an attribute for a module's state
    call: str
    made_at: SourceSpan | None
    message = (
        "`{name}` still holds the graph of the iteration before, so `{call}` goes back into it, "
        "and the backward pass of that iteration has freed it"
    )
    advice = "cut the graph where the next iteration takes it over: `{held_as}.detach()`"

    def evidence(self) -> Iterator[Evidence]:
        if self.made_at is not None:
            yield Evidence(
                f"`{self.name}` got its value in the iteration before", location=self.made_at
            )


class SumCarriedOver(GraphCarriedOver):
    """A sum of losses still holds the graphs of the iterations before."""

    advice = "send this iteration's own loss backward, and add `.item()` of it to `{held_as}`"


class CollectionCarriedOver(GraphCarriedOver):
    """A collection still holds the graphs of the iterations before."""

    advice = "detach each tensor in `{held_as}` before the next iteration takes it over"


class ComputedBeforeLoop(Diagnosis):
    """A value was computed once, and every iteration goes back through it."""

    name: str
    call: str
    made_at: SourceSpan | None
    message = (
        "`{name}` was computed once, before the loop, so every `{call}` goes back through it, "
        "and the first one has freed its graph"
    )

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            f"compute `{self.name}` inside the loop, or use `{self.name}.detach()` if it needs no gradient",
            "add the losses up in the loop, and send their sum backward once, after it",
        )

    def evidence(self) -> Iterator[Evidence]:
        if self.made_at is not None:
            yield Evidence(f"`{self.name}` got its value before the loop", location=self.made_at)


class SentTwice(Diagnosis):
    """One loss was sent backward twice."""

    loss: str
    message = (
        "`{loss}` was sent backward twice in one iteration, and the first time frees its graph"
    )
    advice = "leave out the second backward pass"


class TwoLossesShare(Diagnosis):
    """Two losses come from the same values, and each is sent backward by itself."""

    first: str
    second: str
    shared: str | None
    message = "`{first}` and `{second}` both come from {values}, and the first backward pass has freed that graph"

    @property
    def values(self) -> str:
        """Return what they share."""
        return f"`{self.shared}`" if self.shared is not None else "the same values"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            f"send them backward together: `({self.first} + {self.second}).backward()`",
            "keep the graph for the second pass: `retain_graph=True` in the first `backward`",
        )


class SharedGraphFreed(Diagnosis):
    """A backward pass goes back through a value whose graph an earlier one has freed."""

    call: str
    shared: str
    message = (
        "`{call}` goes back through `{shared}`, whose graph an earlier backward pass has freed"
    )

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            f"use `{self.shared}.detach()` for the loss that is not to train what made it",
            "keep the graph for this pass: `retain_graph=True` in the earlier `backward`",
        )


class GraphFreed(Detector):
    """A graph was used for a second backward pass, after the first one had freed it."""

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
        place = finding.location
        match finding.diagnosis:
            case ComputedBeforeLoop(made_at=made):
                yield from graphs.computed_in_the_loop(place, source, made=made)
            case GraphCarriedOver(name=name):
                yield from graphs.carried_state(place, source, name=name)
            case TwoLossesShare(shared=str(shared)) | SharedGraphFreed(shared=shared):
                yield from graphs.detached_for_the_first(place, source, shared=shared)
        yield from statements.cut_between_steps(place, source)


def diagnosed(crash: CrashView) -> Diagnosis:
    """Return by which way the backward pass came to a graph that was freed."""
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
