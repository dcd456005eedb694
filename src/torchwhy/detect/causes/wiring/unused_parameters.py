from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.views.parameters.trained_parameters import followed, listed, names_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.learning import ParameterCensus
from torchwhy.record.trace import Trace


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
            if unused and any(one.gradient == "nonzero" for one in held):
                yield self.found(
                    trace,
                    NeverUsed(names=names_of(unused), seen_at=census.step),
                    severity="note",
                    step=census.step,
                    location=unused[0].made_at,
                )
