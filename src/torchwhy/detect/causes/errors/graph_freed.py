from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import graphs
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.views.crash.crash_facts import crashes, expression_of, finding_of, idea, says
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

SECOND = r"backward through the graph a second time"


class GraphFreed(Detector):
    """A graph was used for a second backward pass, after the first one had freed it."""

    name = "graph-freed"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if says(crash, SECOND):
                yield finding_of(
                    trace,
                    crash,
                    detector=self.name,
                    message=_message(crash),
                    evidence=list(_evidence(crash)),
                    location=crash.places.get("carried"),
                    fixes=list(_fixes(crash)),
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from graphs.freed(finding, source)
        yield from statements.cut_between_steps(finding, source)


def _message(crash: Crash) -> str:
    name, way, call = crash.facts.get("carried"), crash.facts.get("way"), expression_of(crash)
    if way in ("loop", "module"):
        return (
            f"`{name}` still holds the graph of the iteration before, so `{call}` goes back into it, "
            "and the backward pass of that iteration has freed it"
        )
    if way == "before-loop":
        return (
            f"`{name}` was computed once, before the loop, so every `{call}` goes back through it, "
            "and the first one has freed its graph"
        )
    first, second, shared = (crash.facts.get(key) for key in ("first", "second", "shared"))
    if way == "twice" and first == second:
        return f"`{first}` was sent backward twice in one iteration, and the first time frees its graph"
    if way == "twice":
        through = f"`{shared}`" if isinstance(shared, str) else "the same values"
        return f"`{first}` and `{second}` both come from {through}, and the first backward pass has freed that graph"
    if way == "shared":
        return (
            f"`{call}` goes back through `{shared}`, whose graph an earlier backward pass has freed"
        )
    return f"`{call}` goes through a graph that an earlier backward pass has freed"


def _evidence(crash: Crash) -> Iterator[Evidence]:
    if "made" in crash.places:
        when = (
            "before the loop"
            if crash.facts.get("way") == "before-loop"
            else "in the iteration before"
        )
        yield Evidence(
            f"`{crash.facts.get('carried')}` got its value {when}", location=crash.places["made"]
        )
    if "first" in crash.places:
        yield Evidence("the first backward pass is here", location=crash.places["first"])


def _fixes(crash: Crash) -> Iterator[Fix]:
    name, way = crash.facts.get("carried"), crash.facts.get("way")
    if way == "module":
        name = crash.facts.get("attribute")
    first, second = crash.facts.get("first"), crash.facts.get("second")
    if way in ("loop", "module"):
        yield from _cures_of_state(crash, str(name))
    elif way == "before-loop":
        yield idea(
            f"compute `{name}` inside the loop, or use `{name}.detach()` if it needs no gradient"
        )
        yield idea("add the losses up in the loop, and send their sum backward once, after it")
    elif way == "twice" and first != second:
        yield idea(f"send them backward together: `({first} + {second}).backward()`")
        yield idea(
            "keep the graph for the second pass: `retain_graph=True` in the first `backward`"
        )
    elif way == "twice":
        yield idea("leave out the second backward pass")
    elif way == "shared":
        shared = crash.facts.get("shared")
        yield idea(f"use `{shared}.detach()` for the loss that is not to train what made it")
        yield idea("keep the graph for this pass: `retain_graph=True` in the earlier `backward`")
    else:
        yield idea("detach what is carried over from an earlier iteration, or compute it anew")


def _cures_of_state(crash: Crash, name: str) -> Iterator[Fix]:
    """Yield the ways to carry a value on without its graph."""
    if crash.facts.get("is_sum"):
        yield idea(f"send this iteration's own loss backward, and add `.item()` of it to `{name}`")
    elif crash.facts.get("is_collection"):
        yield idea(f"detach each tensor in `{name}` before the next iteration takes it over")
    else:
        diff = crash.facts.get("diff")
        title = f"cut the graph where the next iteration takes it over: `{name}.detach()`"
        yield Fix(title, diff=diff) if isinstance(diff, str) and diff else idea(title)
