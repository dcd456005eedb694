from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import building
from torchwhy.detect.views.parameters.trained_parameters import (
    followed,
    joined_late,
    made,
    named,
    untrained,
    where,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import OptimizerMade
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import LateParameter, LateParameters
from torchwhy.source.edits import Source


class StaleOptimizerParameters(Detector):
    """The optimizer holds parameters of layers that were replaced after it was made."""

    name = "stale-optimizer-parameters"
    needs = frozenset({"census"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from self._of_censuses(trace)
        late = joined_late(trace)
        # An optimizer that was made between has a census of its own, and it tells more.
        if late is not None and not any(any(self._of_censuses(p)) for p in trace.later_looks):
            look, parameters = late
            own = [one for one in parameters if f"{one.model}.{one.name}" in look.replaced]
            if own:
                yield self._replaced(trace, look, own)

    def _of_censuses(self, trace: Trace) -> Iterator[Finding]:
        looks = followed(trace)
        for census in trace.of(ParameterCensus):
            waiting = [
                one
                for one in census.parameters
                if one.in_optimizer
                and one.requires_grad
                and one.gradient == "none"
                and one.name in looks
            ]
            idle = [one for one in waiting if not looks[one.name].gradient]
            dead = [one for one in idle if not one.registered]
            fresh = [
                one
                for one in untrained(trace, census)
                if one.registered and one.model and one.training
            ]
            if fresh and (dead or _is_other_model(census, idle, fresh)):
                yield self._finding(trace, census, dead or idle, fresh)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from building.build_optimizer_last(finding, source)

    def _finding(
        self,
        trace: Trace,
        census: ParameterCensus,
        dead: list[ParameterSeen],
        fresh: list[ParameterSeen],
    ) -> Finding:
        maker = made(trace, census.optimizer)
        kind = maker.kind if maker is not None else "the optimizer"
        gone = not dead[0].registered
        what = (
            "that no model has any more"
            if gone
            else f"of `{dead[0].model}`, which does not take part in training"
        )
        whose = "belong to no model" if gone else f"belong to `{dead[0].model}`"
        return Finding(
            detector=self.name,
            severity="error",
            message=f"{kind} does not know {named(fresh)} of `{fresh[0].model}`: it holds {len(dead)} tensors {what}",
            step=census.step,
            rank=trace.rank,
            location=maker.location if maker is not None else None,
            evidence=(
                Evidence(
                    f"{named(fresh)}{where(fresh[0].made_at)} get gradients, are in no optimizer and never change",
                    value=float(len(fresh)),
                    step=census.step,
                    location=fresh[0].made_at,
                ),
                Evidence(
                    f"{len(dead)} tensors in the optimizer, the first of shape {dead[0].shape}"
                    f"{where(dead[0].made_at)}, "
                    f"{whose} and never get a gradient",
                    value=float(len(dead)),
                    location=dead[0].made_at,
                ),
            ),
            fixes=(
                Fix("make the optimizer after the model has its final layers", safety="show-only"),
            ),
        )

    def _replaced(self, trace: Trace, look: LateParameters, late: list[LateParameter]) -> Finding:
        since = min(one.since for one in late)
        passes = max(one.passes for one in late)
        makers = [event.location for event in trace.of(OptimizerMade) if event.location is not None]
        return Finding(
            detector=self.name,
            severity="error",
            message=(
                f"{named(late)} of `{late[0].model}` took the place of others in the middle of training, and no "
                "optimizer holds them: it still holds the old ones, which no model has any more"
            ),
            step=since,
            rank=trace.rank,
            location=next(iter([*look.places[-1:], *makers]), None),
            evidence=(
                Evidence(
                    f"{len(late)} tensors that were not there at the first step have got gradients from {passes} "
                    "backward passes or more, and are unchanged, bit for bit",
                    value=float(passes),
                    step=look.step,
                ),
                *(
                    Evidence("the optimizer was made here, before they were", location=place)
                    for place in makers[:1]
                ),
            ),
            fixes=(
                Fix(
                    "after the exchange make the optimizer anew, or give it the new layer: "
                    'optimizer.add_param_group({"params": layer.parameters()})',
                    safety="show-only",
                ),
            ),
        )


def _is_other_model(
    census: ParameterCensus, idle: list[ParameterSeen], fresh: list[ParameterSeen]
) -> bool:
    """Tell whether all that the optimizer holds belongs to a twin of the model that is really used."""
    held = [one for one in census.parameters if one.in_optimizer and one.requires_grad]
    return len(idle) == len(held) and sorted(one.shape for one in idle) == sorted(
        one.shape for one in fresh
    )
