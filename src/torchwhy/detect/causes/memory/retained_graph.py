from __future__ import annotations

import re
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.memory import memory
from torchwhy.detect.fixes.memory.detach import fix_for
from torchwhy.detect.views.memory.growth import (
    Growth,
    collect_facts,
    growths,
    in_words,
    is_window,
    memory_facts,
    place_name,
    without_outer_holders,
)
from torchwhy.finding import Evidence, Finding, Fix, Severity
from torchwhy.record.learning import Held
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class RetainedGraph(Detector):
    """The graph of every step is kept alive, because something holds the loss itself and not its number."""

    name = "retained-graph"
    needs = frozenset({"holdings"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        found = without_outer_holders([*growths(trace, _graphs_in), *growths(trace, _chain_of)])
        suspects = [growth for growth in found if is_kept(growth)]
        sums = [growth for growth in suspects if grows_itself(growth.held)]
        for growth in sums or suspects:
            yield finding_about(growth, trace, self.name)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from memory.kept_without_graph(finding, source)


def _graphs_in(held: Held) -> int:
    return 0 if held.kind == "tensor" else held.with_graph


def _chain_of(held: Held) -> int:
    return held.graph_nodes


def is_kept(growth: Growth) -> bool:
    """Tell whether the graphs are kept without need: not bounded by the program, not on the way to a backward."""
    held = growth.held
    if is_window(held):
        return False
    return is_endless(growth) or not held.feeds_backward


def is_endless(growth: Growth) -> bool:
    """Tell whether nothing ends the growth: neither did it fall, nor does the source empty the variable."""
    return growth.unit == "step" and growth.continues and growth.held.emptied_at is None


def grows_itself(held: Held) -> bool:
    """Tell `total += loss` from `average = total / n`, which only hangs on the other."""
    if held.kind != "tensor":
        return True
    expression = held.grown_at.expression or "" if held.grown_at is not None else ""
    leaf = re.sub(r"\[[^\]]*\]", "", held.name).rsplit(".", 1)[-1]
    return re.search(r"[-+*/@]=", expression) is not None or (
        len(re.findall(rf"\b{re.escape(leaf)}\b", expression)) > 1
    )


def finding_about(growth: Growth, trace: Trace, detector: str) -> Finding:
    """Return the finding: who keeps what, since when, how much, and what frees it."""
    held = growth.held
    return Finding(
        detector=detector,
        severity=severity_of(growth, trace),
        message=message_about(growth),
        step=growth.step,
        rank=trace.rank,
        location=held.grown_at,
        evidence=tuple(facts_about(growth, trace)),
        fixes=(fix_for(held),),
    )


def severity_of(growth: Growth, trace: Trace) -> Severity:
    """An endless growth breaks the run in the end; but where something else broke it already, that comes first."""
    return "error" if is_endless(growth) and not trace.alarms else "warning"


def message_about(growth: Growth) -> str:
    """Return one sentence in the program's own names and numbers."""
    held, unit = growth.held, growth.unit
    plural = f"{growth.ticks} {unit}{'es' if unit == 'batch' else 's'}"
    if held.kind == "tensor":
        what = (
            f"the sum {place_name(held)} hangs on the graph of every {unit}: after {plural} it reaches back "
            f"through {growth.last} operations to the first"
        )
    else:
        what = (
            f"{place_name(held)} keeps {growth.last} tensors with their graphs after {plural}, "
            f"{in_words(growth)}"
        )
    return f"{what}; {ending_of(growth)}"


def ending_of(growth: Growth) -> str:
    """Return what ends the growth, if anything does."""
    held = growth.held
    if held.emptied_at is not None:
        return f"it is let go only at line {held.emptied_at.line}, `{held.emptied_at.expression}`"
    if growth.unit == "batch":
        return "no backward pass uses them, so their activations stay as well"
    return "nothing ever empties it" if growth.continues else "later it grew no further"


def facts_about(growth: Growth, trace: Trace) -> Iterator[Evidence]:
    """Yield the curve, the memory, who refers to what, and what would and would not free it."""
    held = growth.held
    looks = ", ".join(str(tick) for tick, _ in growth.points)
    what = "operations behind" if held.kind == "tensor" else "tensors with a graph in"
    yield Evidence(
        f"{what} `{held.name}` after {growth.unit} {looks}: "
        + ", ".join(str(value) for _, value in growth.points),
        value=float(growth.last),
        step=growth.step,
        series=tuple(float(value) for _, value in growth.points),
    )
    yield from memory_facts(growth)
    kind = "tensor" if held.kind == "tensor" else held.kind
    yield Evidence(
        f"the {kind} `{held.name}` refers to them, each refers to the operations that made it: they are freed "
        f"when `{held.name}` lets go of them; gc.collect() frees nothing that is still referred to"
    )
    yield from collect_facts(trace, held)
