from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import PARAMETERS
from torchwhy.detect.views.parameters.trained_parameters import listed, names_of
from torchwhy.detect.views.training.source_statements import set_to_false
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.learning import ParameterCensus
from torchwhy.record.trace import Trace

READ = "requires_grad"  # the attribute that torch reads, of parameters only


class NotFrozen(Diagnosis):
    """An attribute was set to freeze parameters, and torch does not read it."""

    attribute: str
    statement: str
    names: list[str]
    seen_at: int
    message = "`{statement}` freezes nothing: {why}"
    advice = "freeze parameters: module.requires_grad_(False), or parameter.requires_grad = False for each"

    @property
    def why(self) -> str:
        """Return why torch does not read the attribute."""
        if self.attribute == READ:
            return "a module has no such attribute, only its parameters have"
        return f"torch reads `{READ}`, and this makes a new attribute"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{listed(self.names)} require gradients, get them, and are trained",
            value=float(len(self.names)),
            step=self.seen_at,
        )


class FreezeWithoutEffect(Detector):
    """Layers that should be frozen are trained, because the attribute that was set does not freeze them."""

    name = "freeze-without-effect"
    question = PARAMETERS
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for census in trace.of(ParameterCensus):
            trained = [
                one
                for one in census.parameters
                if one.unheeded is not None
                and one.requires_grad
                and one.in_optimizer
                and one.gradient == "nonzero"
            ]
            attribute = trained[0].unheeded if trained else None
            place = set_to_false(trace, attribute) if attribute is not None else None
            if attribute is None or place is None:
                continue
            diagnosis = NotFrozen(
                attribute=attribute,
                statement=place.expression or f"{attribute} = False",
                names=names_of([one for one in trained if one.unheeded == attribute]),
                seen_at=census.step,
            )
            yield self.found(trace, diagnosis, severity="warning", step=census.step, location=place)
            return
