from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.wiring.detached_graph import IN_VAIN
from torchwhy.detect.checks.standing_questions import PARAMETERS
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, expression_of
from torchwhy.detect.views.parameters.recurrent_layers import (
    are_always_zero,
    chosen_state,
    lie_beyond,
    unused_layers,
)
from torchwhy.detect.views.parameters.trained_parameters import followed, listed, names_of
from torchwhy.detect.views.training.source_statements import reads_gradients
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, SourceSpan
from torchwhy.record.events import Weights
from torchwhy.record.learning import GraphCut, LossRoot, ParameterCensus, ParameterSeen
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


class ComputedInVain(Diagnosis):
    """Parameters of an optimizer compute a value, and the loss does not depend on it."""

    names: list[str]
    what: str
    is_whole: bool
    seen_at: int
    loss: SourceSpan | None
    message = "{which} never {get} a gradient: nothing that {what} computes reaches the loss"
    advice = "compute the loss from this result: check which variable goes into it"

    @property
    def which(self) -> str:
        """Return the first parameters, or that it is all of an optimizer's."""
        return "the parameters of the optimizer" if self.is_whole else listed(self.names)

    @property
    def get(self) -> str:
        """Return the verb for one or for several parameters."""
        return "gets" if len(self.names) == 1 and not self.is_whole else "get"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"in the optimizer and used in the forward pass, without a gradient since: {listed(self.names)}",
            value=float(len(self.names)),
            step=self.seen_at,
        )
        if self.loss is not None:
            yield Evidence("the loss is computed from other values", location=self.loss)


class LayerStateUnused(Diagnosis):
    """A layer of a recurrent network gets gradients of exactly 0: the program uses the state of another one."""

    module: str
    network: str
    names: list[str]
    chosen: str
    measured: int
    message = (
        "{shown} of the {network} `{module}` never learn: the loss depends only on {chosen}, "
        "the state of another layer or direction"
    )
    advice = "take the last layer, h_n[-1]; of a bidirectional one both directions: torch.cat([h_n[-2], h_n[-1]], 1)"

    @property
    def shown(self) -> str:
        """Return the names of the first parameters."""
        return listed(self.names)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"their gradients are exactly 0 at each of {self.measured} measured steps; "
            "those of the other layers are not",
            value=float(len(self.names)),
        )


class UnusedParameters(Detector):
    """The optimizer holds parameters that the loss does not depend on."""

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
        yield from self._in_vain(trace, later)
        yield from self._states(trace)

    def _states(self, trace: Trace) -> Iterator[Finding]:
        """Yield the layers of recurrent networks whose final state nothing uses."""
        for census in trace.of(ParameterCensus):
            for module, unused in unused_layers(census.parameters).items():
                names = names_of(unused)
                measured = [one for one in trace.of(Weights) if one.optimizer == census.optimizer]
                chosen = chosen_state(ForwardGraph(trace), module)
                if chosen is None or not lie_beyond(chosen, unused, census.parameters):
                    continue
                if reads_gradients(trace) or not are_always_zero(measured, names):
                    continue
                diagnosis = LayerStateUnused(
                    module=module,
                    network=str(unused[0].owner),
                    names=names,
                    chosen=expression_of(chosen.location, "one state"),
                    measured=len(measured),
                )
                yield self.found(
                    trace,
                    diagnosis,
                    severity="warning",
                    step=census.step,
                    location=chosen.location,
                )

    def _in_vain(self, trace: Trace, later: dict[str, Followed]) -> Iterator[Finding]:
        """Yield the parameters that compute something which no loss reads."""
        for cut in trace.of(GraphCut):
            states = [later.get(name) for name in cut.parameters]
            never = all(one is not None and not one.gradient and not one.changed for one in states)
            if cut.how != IN_VAIN or not never:
                continue
            losses = [one for one in trace.of(LossRoot) if one.order is not None]
            diagnosis = ComputedInVain(
                names=cut.parameters,
                what=expression_of(cut.location, "the layer"),
                is_whole=cut.whole,
                seen_at=cut.step,
                loss=losses[-1].location if losses else None,
            )
            yield self.found(
                trace,
                diagnosis,
                severity="error" if cut.whole else "note",
                step=cut.step,
                location=cut.location,
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
