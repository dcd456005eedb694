from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import PARAMETERS
from torchwhy.detect.fixes.training import building
from torchwhy.detect.views.parameters.trained_parameters import (
    followed,
    joined_late,
    kind_of,
    listed,
    names_of,
    place_of,
    untrained,
    where,
)
from torchwhy.detect.views.training.source_statements import joining
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.events import OptimizerMade
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import LateParameter, LateParameters
from torchwhy.source.edits import Source


class HoldsOtherTensors(Diagnosis):
    """An optimizer holds tensors that never get a gradient instead of the parameters that do.

    `other_model` is the model that the tensors belong to, None if they no longer belong to one.
    """

    optimizer: str
    names: list[str]
    model: str
    made_at: SourceSpan | None
    held: int
    held_shape: Shape
    held_made_at: SourceSpan | None
    other_model: str | None
    seen_at: int
    message = "{optimizer} does not hold {shown} of `{model}`: it holds {held} tensors {which}"
    advice = "create the optimizer after the model has its final layers"

    @property
    def shown(self) -> str:
        """Return the names of the first parameters that should be held."""
        return listed(self.names)

    @property
    def which(self) -> str:
        """Return which tensors are held."""
        if self.other_model is None:
            return "that no longer belong to a model"
        return f"of `{self.other_model}`, which does not take part in training"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.shown}{where(self.made_at)} get gradients, are in no optimizer and never change",
            value=float(len(self.names)),
            step=self.seen_at,
            location=self.made_at,
        )
        owner = "no model" if self.other_model is None else f"`{self.other_model}`"
        yield Evidence(
            f"{self.held} tensors in the optimizer, the first of shape {self.held_shape}"
            f"{where(self.held_made_at)}, belong to {owner} and never get a gradient",
            value=float(self.held),
            location=self.held_made_at,
        )


class ReplacedInTraining(Diagnosis):
    """The program replaced layers after it had created the optimizer, which holds the old parameters."""

    names: list[str]
    model: str
    passes: int
    optimizer_made_at: SourceSpan | None
    seen_at: int
    message = (
        "{shown} of `{model}` replaced other parameters during training, but no optimizer holds "
        "them: it still holds the old ones, which no longer belong to a model"
    )
    advice = (
        "after the replacement, create a new optimizer or add the new layer to the old one: "
        'optimizer.add_param_group({{"params": layer.parameters()}})'
    )

    @property
    def shown(self) -> str:
        """Return the names of the first new parameters."""
        return listed(self.names)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{len(self.names)} tensors that joined after the first step have had gradients from {self.passes} "
            "backward passes or more and are unchanged, bit for bit",
            value=float(self.passes),
            step=self.seen_at,
        )
        if self.optimizer_made_at is not None:
            claim = "the optimizer was created here, before them"
            yield Evidence(claim, location=self.optimizer_made_at)


class StaleOptimizerParameters(Detector):
    """The optimizer holds parameters of layers that were replaced after it was created."""

    name = "stale-optimizer-parameters"
    question = PARAMETERS
    needs_all = ("parameters",)
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from self._of_censuses(trace)
        late, joined = joined_late(trace) or (None, [])
        # An optimizer created in between has a census of its own, which says more.
        is_reported = any(any(self._of_censuses(later)) for later in trace.later_observations)
        own = [one for one in joined if late and f"{one.model}.{one.name}" in late.replaced]
        if late is not None and own and not is_reported:
            yield self._replaced(trace, late, own)

    def _of_censuses(self, trace: Trace) -> Iterator[Finding]:
        later = followed(trace)
        for census in trace.of(ParameterCensus):
            waiting = [
                one
                for one in census.parameters
                if one.in_optimizer
                and one.requires_grad
                and one.gradient == "none"
                and one.name in later
            ]
            idle = [one for one in waiting if not later[one.name].gradient]
            dead = [one for one in idle if not one.registered]
            fresh = [
                one
                for one in untrained(trace, census)
                if one.registered and one.model and one.training
            ]
            if fresh and (dead or _is_other_model(census, idle, fresh)):
                yield self._stale(trace, census, dead or idle, fresh)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from building.build_optimizer_last(finding.location, source)

    def _stale(
        self,
        trace: Trace,
        census: ParameterCensus,
        dead: list[ParameterSeen],
        fresh: list[ParameterSeen],
    ) -> Finding:
        diagnosis = HoldsOtherTensors(
            optimizer=kind_of(trace, census.optimizer),
            names=names_of(fresh),
            model=str(fresh[0].model),
            made_at=fresh[0].made_at,
            held=len(dead),
            held_shape=dead[0].shape,
            held_made_at=dead[0].made_at,
            other_model=str(dead[0].model) if dead[0].registered else None,
            seen_at=census.step,
        )
        place = place_of(trace, census.optimizer)
        return self.found(trace, diagnosis, severity="error", step=census.step, location=place)

    def _replaced(self, trace: Trace, late: LateParameters, own: list[LateParameter]) -> Finding:
        made = [event.location for event in trace.of(OptimizerMade) if event.location is not None]
        diagnosis = ReplacedInTraining(
            names=names_of(own),
            model=own[0].model,
            passes=max(one.passes for one in own),
            optimizer_made_at=next(iter(made), None),
            seen_at=late.step,
        )
        return self.found(
            trace,
            diagnosis,
            severity="error",
            step=min(one.since for one in own),
            location=next(iter([*joining(trace, late)[-1:], *made]), None),
        )


def _is_other_model(
    census: ParameterCensus, idle: list[ParameterSeen], fresh: list[ParameterSeen]
) -> bool:
    """Tell whether the optimizer holds only a twin of the model that the program uses."""
    held = [one for one in census.parameters if one.in_optimizer and one.requires_grad]
    return len(idle) == len(held) and sorted(one.shape for one in idle) == sorted(
        one.shape for one in fresh
    )
