from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import PARAMETERS
from torchwhy.detect.fixes.training import optimizers
from torchwhy.detect.views.graph.graph_queries import elements
from torchwhy.detect.views.parameters.chosen_parameters import chooses_the_output, trains_the_input
from torchwhy.detect.views.parameters.trained_parameters import (
    followed,
    joined_late,
    kind_of,
    listed,
    names_of,
    place_of,
    thawed,
    untrained,
)
from torchwhy.detect.views.training.source_statements import joining, thawing
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix, Severity, SourceSpan
from torchwhy.record.learning import LEAF, ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import LateParameter, LateParameters
from torchwhy.source.edits import Source

SHOWN_STATEMENTS = 3


class NotHeld(Diagnosis):
    """Parameters get gradients, but no optimizer holds them."""

    names: list[str]
    model: str

    @property
    def shown(self) -> str:
        """Return the names of the first parameters."""
        return listed(self.names)


class KeepRandomValues(NotHeld):
    """Parameters with random initial values get gradients from the first step on but never change."""

    elements: int
    steps: int
    held: int
    made_at: SourceSpan | None
    seen_at: int
    message = "{shown} of `{model}` {get} gradients, but no optimizer holds {them}: {they_keep} random initial values"
    advice = "add these parameters to the optimizer, or freeze them if they should not learn"

    @property
    def get(self) -> str:
        """Return the verb for one or for several parameters."""
        return "gets" if len(self.names) == 1 else "get"

    @property
    def them(self) -> str:
        """Return the pronoun for one or for several parameters."""
        return "it" if len(self.names) == 1 else "them"

    @property
    def they_keep(self) -> str:
        """Return the start of the consequence for one or for several parameters."""
        return "it keeps its" if len(self.names) == 1 else "they keep their"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"after {self.steps} steps, {len(self.names)} tensors with {self.elements} elements "
            "are unchanged, bit for bit",
            value=float(self.elements),
            step=self.seen_at,
            location=self.made_at,
        )
        yield Evidence(
            f"the optimizer holds {self.held} tensors of the same model", value=float(self.held)
        )


class LeafNotHeld(Diagnosis):
    """A plain tensor of the program requires a gradient and gets one, but never changes."""

    tensor: str
    shape: Shape
    made_at: SourceSpan | None
    seen_at: int
    message = (
        "`{tensor}` requires a gradient and gets one, but no optimizer holds it: it never changes"
    )
    advice = "add it to the optimizer: [*model.parameters(), {tensor}]"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"a tensor of shape {self.shape}, not an nn.Parameter of a model; it is unchanged, bit for bit",
            value=float(elements(self.shape)),
            step=self.seen_at,
            location=self.made_at,
        )


class UnfrozenTooLate(NotHeld):
    """The program unfroze parameters after it had created the optimizer without them."""

    optimizer: str
    elements: int
    steps: int
    unfrozen_at: list[SourceSpan]
    message = (
        "{shown} of `{model}` were frozen at the first step of {optimizer} and unfrozen later, "
        "but no optimizer holds them: they never change"
    )
    advice = (
        "where you unfreeze them, add them to the optimizer: "
        'optimizer.add_param_group({{"params": …}}); or pass it all parameters from the start: '
        "it skips those without a gradient"
    )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{len(self.names)} tensors with {self.elements} elements have had "
            f"gradients for {self.steps} steps or more and are unchanged, bit for bit",
            value=float(self.steps),
        )
        for place in self.unfrozen_at:
            yield Evidence(f"unfrozen here: {place.expression}", location=place)


class JoinedTooLate(NotHeld):
    """Parameters joined a model after the program had created the optimizer."""

    passes: int
    seen_at: int
    message = (
        "{shown} joined `{model}` during training, "
        "but no optimizer holds them: they keep their initial values"
    )
    advice = (
        'where they join, add them to the optimizer: optimizer.add_param_group({{"params": …}})'
    )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{len(self.names)} tensors that joined after the first step have had gradients from {self.passes} "
            "backward passes or more and are unchanged, bit for bit",
            value=float(self.passes),
            step=self.seen_at,
        )


class ParametersNotInOptimizer(Detector):
    """Parameters with fresh random values get gradients, but no optimizer holds them."""

    name = "parameters-not-in-optimizer"
    question = PARAMETERS
    needs_all = ("parameters",)
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from self._of_censuses(trace)
        late, joined = joined_late(trace) or (None, [])
        added = [one for one in joined if late and f"{one.model}.{one.name}" not in late.replaced]
        # An optimizer created in between has a census of its own, which says more.
        is_reported = any(any(self._of_censuses(later)) for later in trace.later_observations)
        if late is not None and len(added) == len(joined) and added and not is_reported:
            yield self._added(trace, late, added)

    def _of_censuses(self, trace: Trace) -> Iterator[Finding]:
        reported: set[str] = set()
        for census in trace.of(ParameterCensus):
            every = untrained(trace, census, gradients=("nonzero", "zero"))
            fed = {one.model for one in every if one.gradient == "nonzero"}
            # The inner matrix of an adapter gets a gradient of 0 as long as its outer one is 0.
            unheld = [
                one
                for one in every
                if one.registered and one.training and one.model in fed - {None}
            ]
            for model in dict.fromkeys(one.model for one in unheld):
                own = [one for one in unheld if one.model == model and one.name not in reported]
                if any(one.written_by == "random" for one in own):
                    reported |= {one.name for one in own}
                    yield self._random(trace, census, own)
            for one in untrained(trace, census):
                if one.owner == LEAF and one.name not in reported:
                    reported.add(one.name)
                    yield self._leaf(trace, census, one)
            late = [one for one in thawed(trace, census) if one.registered and one.model]
            for model in dict.fromkeys(one.model for one in late):
                own = [one for one in late if one.model == model and one.name not in reported]
                reported |= {one.name for one in own}
                yield self._thawed(trace, census, own)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case LeafNotHeld(tensor=tensor):
                yield from optimizers.and_a_leaf(finding.location, source, tensor)
            case NotHeld(names=names):
                yield from optimizers.all_parameters(finding.location, source, names=names)

    def _random(
        self, trace: Trace, census: ParameterCensus, unheld: list[ParameterSeen]
    ) -> Finding:
        model = unheld[0].model
        held = [one for one in census.parameters if one.in_optimizer and one.model == model]
        diagnosis = KeepRandomValues(
            names=names_of(unheld),
            model=str(model),
            elements=sum(elements(one.shape) for one in unheld),
            steps=max((step.step for step in trace.steps), default=0) + 1,
            held=len(held),
            made_at=unheld[0].made_at,
            seen_at=census.step,
        )
        severity: Severity = "error"
        if not held:
            severity = "note" if trains_the_input(trace, census, unheld) else "warning"
        elif chooses_the_output(trace, census, held):
            severity = "note"
        place = place_of(trace, census.optimizer)
        return self.found(trace, diagnosis, severity=severity, step=census.step, location=place)

    def _leaf(self, trace: Trace, census: ParameterCensus, leaf: ParameterSeen) -> Finding:
        diagnosis = LeafNotHeld(
            tensor=leaf.name, shape=leaf.shape, made_at=leaf.made_at, seen_at=census.step
        )
        place = place_of(trace, census.optimizer)
        return self.found(trace, diagnosis, severity="warning", step=census.step, location=place)

    def _thawed(self, trace: Trace, census: ParameterCensus, late: list[ParameterSeen]) -> Finding:
        looks = followed(trace)
        diagnosis = UnfrozenTooLate(
            names=names_of(late),
            model=str(late[0].model),
            optimizer=kind_of(trace, census.optimizer),
            elements=sum(elements(one.shape) for one in late),
            steps=max(looks[one.name].thawed_for for one in late),
            unfrozen_at=thawing(trace)[:SHOWN_STATEMENTS],
        )
        place = place_of(trace, census.optimizer)
        return self.found(trace, diagnosis, severity="error", step=census.step, location=place)

    def _added(self, trace: Trace, late: LateParameters, added: list[LateParameter]) -> Finding:
        diagnosis = JoinedTooLate(
            names=names_of(added),
            model=added[0].model,
            passes=max(one.passes for one in added),
            seen_at=late.step,
        )
        places = joining(trace, late)
        return self.found(
            trace,
            diagnosis,
            severity="error",
            step=min(one.since for one in added),
            location=places[-1] if places else place_of(trace, 0),
        )
