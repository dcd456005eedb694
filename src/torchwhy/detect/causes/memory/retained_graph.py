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
    is_window,
    memory_facts,
    place_name,
    plural,
    rate_words,
    without_outer_holders,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, Severity, SourceSpan
from torchwhy.record.learning import Held
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class GraphsKept(Diagnosis):
    """A collection keeps tensors with the graphs of the steps that made them."""

    variable: str
    function: str | None
    count: int  # tensors; for a sum, the operations it reaches back through
    ticks: int
    unit: str  # `step` or `batch`
    per_tick: float
    continues: bool
    emptied_at: SourceSpan | None
    parts: list[str]
    endless = "nothing empties it"
    message = "{where} keeps {count} tensors with their graphs after {duration}, {rate}; {ending}"

    @property
    def where(self) -> str:
        """Return the variable with its function or class."""
        return place_name(self.variable, self.function)

    @property
    def duration(self) -> str:
        """Return the number of steps or batches, with the unit."""
        return f"{self.ticks} {plural(self.unit)}"

    @property
    def rate(self) -> str:
        """Return how many tensors each step or batch adds, in words."""
        return rate_words(self.per_tick, self.unit)

    @property
    def ending(self) -> str:
        """Return what ends the growth, if anything does."""
        if self.emptied_at is not None:
            return f"only line {self.emptied_at.line} releases it: `{self.emptied_at.expression}`"
        if self.unit == "batch":
            return "no backward pass uses these graphs, and their activations stay in memory too"
        return self.endless if self.continues else "later it stopped growing"


class SumKeepsGraphs(GraphsKept):
    """A sum reaches back through the graph of every step."""

    endless = "nothing resets it"
    message = (
        "{where} keeps the graph of every {unit} alive: after {duration} it reaches back "
        "through {count} operations; {ending}"
    )


class RetainedGraph(Detector):
    """The graph of every step stays alive, because the program keeps the loss tensor instead of its number."""

    name = "retained-graph"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        found = without_outer_holders([*growths(trace, _graphs_in), *growths(trace, _chain_of)])
        suspects = [growth for growth in found if is_kept(growth)]
        sums = [growth for growth in suspects if grows_itself(growth.held)]
        for growth in sums or suspects:
            yield self.found(
                trace,
                diagnosed(growth),
                severity=severity_of(growth, trace),
                step=growth.step,
                location=growth.held.grown_at,
                evidence=facts_about(growth, trace),
                fixes=[fix_for(growth.held)],
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        parts = finding.diagnosis.parts if isinstance(finding.diagnosis, GraphsKept) else []
        if parts and memory.kept_name(finding.location, source) is not None:
            yield from memory.kept_dict_without_graph(finding.location, source, parts)
        else:
            yield from memory.kept_without_graph(finding.location, source)


def _graphs_in(held: Held) -> int:
    return 0 if held.kind == "tensor" else held.with_graph


def _chain_of(held: Held) -> int:
    return held.graph_nodes


def is_kept(growth: Growth) -> bool:
    """Tell whether the program keeps the graphs without need: it bounds nothing, and no backward pass uses them."""
    held = growth.held
    if is_window(held):
        return False
    return is_endless(growth) or not held.feeds_backward


def is_endless(growth: Growth) -> bool:
    """Tell whether the variable grew to the end of the run and no statement empties it."""
    return growth.unit == "step" and growth.continues and growth.held.emptied_at is None


def grows_itself(held: Held) -> bool:
    """Tell whether a statement adds to the variable: `total += loss`, but not `average = total / n`."""
    if held.kind != "tensor":
        return True
    expression = held.grown_at.expression or "" if held.grown_at is not None else ""
    leaf = re.sub(r"\[[^\]]*\]", "", held.name).rsplit(".", 1)[-1]
    return re.search(r"[-+*/@]=", expression) is not None or (
        len(re.findall(rf"\b{re.escape(leaf)}\b", expression)) > 1
    )


def severity_of(growth: Growth, trace: Trace) -> Severity:
    """Return error for a growth that ends in out-of-memory, but warning if the run has failed in another way."""
    return "error" if is_endless(growth) and not trace.alarms else "warning"


def diagnosed(growth: Growth) -> GraphsKept:
    """Return the variable that keeps the graphs, how fast it grows, and what ends it."""
    held = growth.held
    kind = SumKeepsGraphs if held.kind == "tensor" else GraphsKept
    return kind(
        variable=held.name,
        function=held.function,
        count=growth.last,
        ticks=growth.ticks,
        unit=growth.unit,
        per_tick=growth.per_tick,
        continues=growth.continues,
        emptied_at=held.emptied_at,
        parts=held.parts,
    )


def facts_about(growth: Growth, trace: Trace) -> Iterator[Evidence]:
    """Yield the curve, the memory, what references the graphs, and what frees them."""
    held = growth.held
    ticks = ", ".join(str(tick) for tick, _ in growth.points)
    what = "operations behind" if held.kind == "tensor" else "tensors with a graph in"
    yield Evidence(
        f"{what} `{held.name}` after {growth.unit} {ticks}: "
        + ", ".join(str(value) for _, value in growth.points),
        value=float(growth.last),
        step=growth.step,
        series=tuple(float(value) for _, value in growth.points),
    )
    yield from memory_facts(growth)
    yield Evidence(
        f"`{held.name}` references them, and each references the operations that made it. They are freed when "
        f"`{held.name}` drops them; gc.collect() frees nothing that is still referenced"
    )
    yield from collect_facts(trace, held)
