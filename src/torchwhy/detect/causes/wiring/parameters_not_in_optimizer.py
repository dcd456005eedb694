from __future__ import annotations

import re
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import optimizers
from torchwhy.detect.views.graph.graph_queries import ForwardGraph
from torchwhy.detect.views.parameters.trained_parameters import (
    joined_late,
    made,
    named,
    output_module,
    thawed,
    untrained,
)
from torchwhy.detect.views.parameters.untrained import (
    about_added,
    about_leaf,
    about_thawed,
    elements_of,
)
from torchwhy.finding import Evidence, Finding, Fix, Severity
from torchwhy.record.learning import LEAF, ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

PART_BY_NAME = re.compile(
    r"\w\.\w+(\[\w+\])?\.parameters\(\)"
)  # `model.head.parameters()`: a part, chosen by name
OF_A_LEAF = re.compile(r"`(.+)` requires a gradient and gets one")
PART_BY_VARIABLE = re.compile(r"(?<![\w.])(\w+)\.parameters\(\)")


class ParametersNotInOptimizer(Detector):
    """Parameters with fresh random values get gradients, but no optimizer was given them."""

    name = "parameters-not-in-optimizer"
    needs = frozenset({"census"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from self._of_censuses(trace)
        look, joined = joined_late(trace) or (None, [])
        added = [one for one in joined if look and f"{one.model}.{one.name}" not in look.replaced]
        # An optimizer that was made between has a census of its own, and it tells more.
        is_told = any(any(self._of_censuses(phase)) for phase in trace.later_looks)
        if look is not None and len(added) == len(joined) and added and not is_told:
            yield about_added(self.name, trace, look, added)

    def _of_censuses(self, trace: Trace) -> Iterator[Finding]:
        told: set[str] = set()
        for census in trace.of(ParameterCensus):
            lonely = [
                one
                for one in untrained(trace, census)
                if one.registered and one.training and one.model
            ]
            for model in dict.fromkeys(one.model for one in lonely):
                own = [one for one in lonely if one.model == model and one.name not in told]
                if any(one.written_by == "random" for one in own):
                    told |= {one.name for one in own}
                    yield self._finding(trace, census, own)
            for one in untrained(trace, census):
                if one.owner == LEAF and one.name not in told:
                    told.add(one.name)
                    yield about_leaf(self.name, trace, census, one)
            late = [one for one in thawed(trace, census) if one.registered and one.model]
            for model in dict.fromkeys(one.model for one in late):
                own = [one for one in late if one.model == model and one.name not in told]
                told |= {one.name for one in own}
                yield about_thawed(self.name, trace, census, own)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        leaf = OF_A_LEAF.match(finding.message)
        if leaf is None:
            yield from optimizers.all_parameters(finding, source)
        else:
            yield from optimizers.and_a_leaf(finding, source, leaf[1])

    def _finding(
        self, trace: Trace, census: ParameterCensus, lonely: list[ParameterSeen]
    ) -> Finding:
        maker = made(trace, census.optimizer)
        model = lonely[0].model
        held = [one for one in census.parameters if one.in_optimizer and one.model == model]
        elements = sum(elements_of(one) for one in lonely)
        steps = max((step.step for step in trace.steps), default=0) + 1
        return Finding(
            detector=self.name,
            severity=self._severity(trace, census, lonely, held=held),
            message=(
                f"{named(lonely)} of `{model}` {'gets' if len(lonely) == 1 else 'get'} gradients, but no "
                f"optimizer holds {'it' if len(lonely) == 1 else 'them'}: random start values are kept"
            ),
            step=census.step,
            rank=trace.rank,
            location=maker.location if maker is not None else None,
            evidence=(
                Evidence(
                    f"{len(lonely)} tensors with {elements} elements are unchanged, "
                    f"bit for bit, at the end of {steps} steps",
                    value=float(elements),
                    step=census.step,
                    location=lonely[0].made_at,
                ),
                Evidence(
                    f"of the same model, the optimizer holds {len(held)} tensors",
                    value=float(len(held)),
                ),
            ),
            fixes=(
                Fix(
                    "give the optimizer these parameters, too; or freeze them, if they are to stay",
                    safety="show-only",
                ),
            ),
        )

    @staticmethod
    def _severity(
        trace: Trace,
        census: ParameterCensus,
        lonely: list[ParameterSeen],
        *,
        held: list[ParameterSeen],
    ) -> Severity:
        if not held:
            return "note" if _trains_the_input(trace, census, lonely) else "warning"
        maker = made(trace, census.optimizer)
        text = (
            (maker.location.expression or "")
            if maker is not None and maker.location is not None
            else ""
        )
        by_name = PART_BY_NAME.search(text) is not None or _is_of_a_part(text, held)
        last = output_module(trace, census)
        return "note" if by_name and any(one.module == last for one in held) else "error"


def _is_of_a_part(text: str, held: list[ParameterSeen]) -> bool:
    """Tell whether a part was chosen by a variable of its own: `readout.parameters()`, where `model` holds it."""
    variable = PART_BY_VARIABLE.search(text)
    parts = {one.module for one in held}
    return variable is not None and len(parts) == 1 and variable[1] != held[0].model


def _trains_the_input(trace: Trace, census: ParameterCensus, lonely: list[ParameterSeen]) -> bool:
    """Tell whether all that the optimizer holds are tensors of no module, and they go into the model.

    An image, a latent code or a prompt is what such a program trains; the network only judges it.
    """
    held = [one for one in census.parameters if one.in_optimizer]
    if not held or any(one.owner is not None or one.model is not None for one in held):
        return False
    graph, names = ForwardGraph(trace), {one.name for one in lonely}
    for operation in graph.operations():
        if names.isdisjoint(operation.parameters):
            continue
        above = list(graph.ancestors(operation))[1:]
        if any(a.location == one.made_at and a.shape == one.shape for a in above for one in held):
            return True
    return False
