from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.views.crash.crash_facts import crashes, finding_of, idea
from torchwhy.detect.views.parameters.trained_parameters import named, untrained
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.crashes import Crash
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class UnregisteredSubmodules(Detector):
    """Layers run inside a model's forward, but the model does not know them."""

    name = "unregistered-submodules"
    needs = frozenset({"census", "crash"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if "hidden_in" in crash.facts:
                yield _no_parameters(trace, crash)
        for census in trace.of(ParameterCensus):
            # A matrix of zeros behind another one keeps the gradient of that one at 0 in the first step.
            hidden = [
                one
                for one in untrained(trace, census, ("nonzero", "zero"))
                if one.inside is not None and not one.registered and one.written_by != "loaded"
            ]
            if any(one.gradient == "nonzero" for one in hidden):
                yield self._finding(trace, census, hidden)
                return

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        family = "Parameter" if finding.message.startswith("parameters") else "Module"
        yield from modules.registered(finding, source, family)

    def _finding(
        self, trace: Trace, census: ParameterCensus, hidden: list[ParameterSeen]
    ) -> Finding:
        first = next((one for one in hidden if one.made_at is not None), hidden[0])
        places = list(dict.fromkeys(one.made_at for one in hidden if one.made_at is not None))
        kinds = ", ".join(dict.fromkeys(str(one.owner) for one in hidden))
        are_parameters = kinds == "Parameter"
        who = (
            f"parameters in a plain list or dictionary ({named(hidden)}) are used"
            if are_parameters
            else f"layers ({kinds}) run"
        )
        tensors = "tensors" if are_parameters else f"tensors of {kinds}"
        what, container = ("parameters", "Parameter") if are_parameters else ("layers", "Module")
        return Finding(
            detector=self.name,
            severity="error",
            message=(
                f"{who} inside `{first.inside}`, but it does not know them: "
                f"{len(hidden)} tensors are trained by nobody"
            ),
            step=census.step,
            rank=trace.rank,
            location=first.made_at,
            evidence=(
                Evidence(
                    f"{len(hidden)} {tensors} get gradients, are in no optimizer and never change",
                    value=float(len(hidden)),
                    step=census.step,
                ),
                *(
                    Evidence(f"made here: {place.expression}", location=place)
                    for place in places[:3]
                ),
            ),
            fixes=(
                Fix(
                    f"keep the {what} in an nn.{container}List or nn.{container}Dict",
                    safety="show-only",
                ),
            ),
        )


def _no_parameters(trace: Trace, crash: Crash) -> Finding:
    """Describe a model all of whose layers are hidden: the optimizer finds nothing to train."""
    kinds, place = crash.facts["hidden"], crash.facts["hidden_in"]
    family = "Parameter" if kinds == "Parameter" else "Module"
    what = "parameters" if kinds == "Parameter" else f"layers ({kinds})"
    return finding_of(
        trace,
        crash,
        detector=UnregisteredSubmodules.name,
        message=(
            f"{what} are kept in the plain list or dictionary `{place}`, so the model does not know them, and the "
            "optimizer gets no parameters"
        ),
        location=crash.places.get("hidden"),
        fixes=[idea(f"keep them in an nn.{family}List or nn.{family}Dict")],
    )
