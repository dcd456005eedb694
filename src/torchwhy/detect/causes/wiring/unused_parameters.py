from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import PARAMETERS
from torchwhy.detect.views.parameters.trained_parameters import followed, listed, names_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import Followed


class NeverUsed(Diagnosis):
    """An optimizer holds parameters that no operation used."""

    names: list[str]
    seen_at: int
    message = "{shown} {are} in the optimizer, but the loss does not depend on {them}"
    advice = "use the layer in forward, or remove it"

    @property
    def shown(self) -> str:
        """Return the names of the first parameters."""
        return listed(self.names)

    @property
    def are(self) -> str:
        """Return the verb for one or for several parameters."""
        return "is" if len(self.names) == 1 else "are"

    @property
    def them(self) -> str:
        """Return the pronoun for one or for several parameters."""
        return "it" if len(self.names) == 1 else "them"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "no operation of its first step used them, and none has had a gradient since",
            value=float(len(self.names)),
            step=self.seen_at,
        )


class UnusedParameters(Detector):
    """The optimizer holds parameters that never take part in the forward pass."""

    name = "unused-parameters"
    question = PARAMETERS
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        later = followed(trace)
        for census in trace.of(ParameterCensus):
            held = [one for one in census.parameters if one.in_optimizer]
            unused = [
                one
                for one in held
                if one.requires_grad
                and one.registered
                and one.gradient == "none"
                and not one.used
                and one.name in later
                and not later[one.name].gradient
                # A parameter that a later task trained has changed.
                and not later[one.name].changed
            ]
            unused = _without_drawn(unused, [one for one in held if _joined(one, later)])
            if unused and any(one.gradient == "nonzero" for one in held):
                yield self.found(
                    trace,
                    NeverUsed(names=names_of(unused), seen_at=census.step),
                    severity="note",
                    step=census.step,
                    location=unused[0].made_at,
                )


def _joined(one: ParameterSeen, later: dict[str, Followed]) -> bool:
    """Tell whether the first step did not use a parameter and a later one did."""
    seen = later.get(one.name)
    return not one.used and seen is not None and (seen.gradient or seen.changed)


def _without_drawn(unused: list[ParameterSeen], joined: list[ParameterSeen]) -> list[ParameterSeen]:
    """Leave out the like of parameters that joined later: experts, heads and layers that the program draws."""
    places = {one.made_at for one in joined if one.made_at is not None}
    kinds = {(one.owner, tuple(one.shape)) for one in joined}
    return [
        one
        for one in unused
        if one.made_at not in places and (one.owner, tuple(one.shape)) not in kinds
    ]
