from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.views.parameters.trained_parameters import followed, named
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace


class UnusedParameters(Detector):
    """Parameters in the optimizer never take part in the forward pass."""

    name = "unused-parameters"
    needs = frozenset({"census"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        looks = followed(trace)
        for census in trace.of(ParameterCensus):
            unused = [
                one
                for one in census.parameters
                if one.in_optimizer
                and one.requires_grad
                and one.registered
                and one.gradient == "none"
                and not one.used
                and one.name in looks
                and not looks[one.name].gradient
                and not looks[
                    one.name
                ].changed  # trained between the looks, by a task that came later
            ]
            trained = any(
                one.gradient == "nonzero" for one in census.parameters if one.in_optimizer
            )
            if unused and trained:
                yield Finding(
                    detector=self.name,
                    severity="note",
                    message=_message(unused),
                    step=census.step,
                    rank=trace.rank,
                    location=unused[0].made_at,
                    evidence=(
                        Evidence(
                            "no operation of its first step used them, and none has got a gradient since",
                            value=float(len(unused)),
                            step=census.step,
                        ),
                    ),
                    fixes=(Fix("use the layer in forward, or remove it", safety="show-only"),),
                )


def _message(unused: list[ParameterSeen]) -> str:
    verb, them = ("is", "it") if len(unused) == 1 else ("are", "them")
    return f"{named(unused)} {verb} in the optimizer, but the loss does not depend on {them}"
