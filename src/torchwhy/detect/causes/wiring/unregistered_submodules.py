from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import PARAMETERS
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.parameters.trained_parameters import listed, names_of, untrained
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

MOST_PLACES = 3


class Unregistered(Diagnosis):
    """Tensors that a model has not registered take part in its forward pass, so no optimizer gets them."""

    inside: str
    tensors: int
    made_at: list[SourceSpan]
    seen_at: int

    @property
    def what(self) -> str:
        """Return how the evidence names the tensors."""
        return "tensors"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.tensors} {self.what} get gradients, are in no optimizer and never change",
            value=float(self.tensors),
            step=self.seen_at,
        )
        for place in self.made_at:
            yield Evidence(f"made here: {place.expression}", location=place)


class UnregisteredLayers(Unregistered):
    """Layers run inside a model that has not registered them."""

    kinds: list[str]
    message = (
        "layers ({shown}) run inside `{inside}`, but it has not registered them: "
        "no optimizer trains their {tensors} tensors"
    )
    advice = "keep the layers in an nn.ModuleList or nn.ModuleDict"

    @property
    def shown(self) -> str:
        """Return the classes of the layers."""
        return ", ".join(self.kinds)

    @property
    def what(self) -> str:
        return f"tensors of {self.shown}"


class UnregisteredParameters(Unregistered):
    """A model uses parameters in a plain list or dictionary, which it has not registered."""

    names: list[str]
    message = (
        "`{inside}` uses parameters in a plain list or dictionary ({shown}), but has not registered "
        "them: no optimizer trains these {tensors} tensors"
    )
    advice = "keep the parameters in an nn.ParameterList or nn.ParameterDict"

    @property
    def shown(self) -> str:
        """Return the names of the first parameters."""
        return listed(self.names)


class NothingRegistered(Diagnosis):
    """All layers or parameters of a model are in a plain list or dictionary, and the optimizer got an empty list."""

    family: Literal["Module", "Parameter"]
    kinds: str
    collection: str
    message = (
        "{what} are kept in the plain list or dictionary `{collection}`, so the model does not register them, "
        "and the optimizer gets no parameters"
    )
    advice = "keep them in an nn.{family}List or nn.{family}Dict"

    @property
    def what(self) -> str:
        """Return what the collection holds."""
        return "parameters" if self.family == "Parameter" else f"layers ({self.kinds})"


class UnregisteredSubmodules(Detector):
    """Layers run inside a model's forward pass, but the model has not registered them."""

    name = "unregistered-submodules"
    question = PARAMETERS
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if crash.fact("hidden_in") is not None:
                yield self._no_parameters(crash)
        for census in trace.of(ParameterCensus):
            # A matrix of zeros after another one makes the gradient of that one 0 in the first step.
            hidden = [
                one
                for one in untrained(trace, census, ("nonzero", "zero"))
                if one.inside is not None and not one.registered and one.written_by != "loaded"
            ]
            if any(one.gradient == "nonzero" for one in hidden):
                places = [one.made_at for one in hidden if one.made_at is not None]
                yield self.found(
                    trace,
                    _diagnosis(census, hidden, list(dict.fromkeys(places))[:MOST_PLACES]),
                    severity="error",
                    step=census.step,
                    location=next(iter(places), None),
                )
                return

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case UnregisteredLayers(made_at=places):
                yield from modules.registered([*places, finding.location], source, "Module")
            case UnregisteredParameters(made_at=places):
                yield from modules.registered([*places, finding.location], source, "Parameter")
            case NothingRegistered(family=family):
                yield from modules.registered([finding.location], source, family)

    def _no_parameters(self, crash: CrashView) -> Finding:
        kinds = crash.fact("hidden") or ""
        diagnosis = NothingRegistered(
            family="Parameter" if kinds == "Parameter" else "Module",
            kinds=kinds,
            collection=crash.fact("hidden_in") or "",
        )
        return crash.finding(self.name, diagnosis, location=crash.place("hidden"))


def _diagnosis(
    census: ParameterCensus, hidden: list[ParameterSeen], places: list[SourceSpan]
) -> Unregistered:
    first = next((one for one in hidden if one.made_at is not None), hidden[0])
    kinds = list(dict.fromkeys(str(one.owner) for one in hidden))
    if kinds == ["Parameter"]:
        return UnregisteredParameters(
            names=names_of(hidden),
            inside=str(first.inside),
            tensors=len(hidden),
            made_at=places,
            seen_at=census.step,
        )
    return UnregisteredLayers(
        kinds=kinds,
        inside=str(first.inside),
        tensors=len(hidden),
        made_at=places,
        seen_at=census.step,
    )
