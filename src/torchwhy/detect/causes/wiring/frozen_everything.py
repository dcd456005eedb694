from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import PARAMETERS
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.fixes.training.freezing import thawed_layer
from torchwhy.detect.views.parameters.chosen_parameters import is_added_to_frozen
from torchwhy.detect.views.parameters.trained_parameters import (
    followed,
    held_before,
    held_by,
    listed,
    names_of,
    output_module,
    place_of,
)
from torchwhy.detect.views.training.source_statements import freezing
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

# Layers of torch that can be the output layer of a model.
LAYERS = {
    "Linear", "Bilinear", "LSTM", "GRU", "RNN", "LayerNorm", "GroupNorm",
    *(f"{kind}{dimensions}d" for kind in ("Conv", "ConvTranspose", "BatchNorm") for dimensions in (1, 2, 3)),
}  # fmt: skip


class Frozen(Diagnosis):
    """Parameters in use do not require gradients; `training` names those that the optimizer trains."""

    frozen: list[str]
    training: list[str]
    made_at: SourceSpan | None
    seen_at: int
    advice = "freeze before you add the new layer, or set its requires_grad to True"

    @property
    def shown(self) -> str:
        """Return the names of the first frozen parameters."""
        return listed(self.frozen)

    def evidence(self) -> Iterator[Evidence]:
        count = len(self.frozen)
        yield Evidence(
            f"{count} tensors in use do not require gradients: {self.shown}",
            value=float(count),
            step=self.seen_at,
            location=self.made_at,
        )
        trained = listed(self.training) if self.training else "nothing"
        yield Evidence(f"the optimizer trains {trained}", value=float(len(self.training)))


class AllFrozen(Frozen):
    """Every parameter that an optimizer holds is frozen."""

    message = "every parameter of the optimizer is frozen, so nothing learns"


class NewLayerFrozen(Frozen):
    """A layer with random values is frozen while loaded weights train."""

    message = (
        "the new layer is frozen while the loaded weights train: {shown} keep their random values"
    )


class OutputFrozen(Frozen):
    """The output layer is frozen at random values."""

    message = "the output layer is frozen at random values ({shown}) while layers before it train"


class StillFrozen(Frozen):
    """A later optimizer gets more parameters than the one before it, and the new ones are still frozen."""

    message = (
        "this optimizer also gets {shown}, but they are still frozen: it trains the same "
        "parameters as the one before it"
    )
    advice = "if they should learn, set requires_grad to True before you create the optimizer"


class FrozenEverything(Detector):
    """The parameters that should learn do not require gradients."""

    name = "frozen-everything"
    question = PARAMETERS
    needs_all = ("parameters",)
    every_observation = True
    settled = (AllFrozen, NewLayerFrozen, OutputFrozen)

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for census in trace.of(ParameterCensus):
            held = [one for one in census.parameters if one.in_optimizer]
            if held and not any(one.requires_grad for one in held):
                yield self._error(trace, census, AllFrozen, held, [])
                return
            for model in dict.fromkeys(one.model for one in census.parameters if one.model):
                own = [one for one in census.parameters if one.model == model]
                yield from self._judge_model(trace, census, own)
            if census.look:
                yield from self._judge_later(trace, census)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case NewLayerFrozen(frozen=frozen) | OutputFrozen(frozen=frozen):
                yield from thawed_layer(finding.location, source, frozen=frozen)
        yield from statements.unfrozen(finding.location, source)

    def _judge_model(
        self, trace: Trace, census: ParameterCensus, own: list[ParameterSeen]
    ) -> Iterator[Finding]:
        frozen = [
            one for one in own if not one.requires_grad and one.used and one.written_by == "random"
        ]
        training = [
            one
            for one in own
            if one.in_optimizer and one.requires_grad and one.gradient == "nonzero"
        ]
        if not frozen or not training:
            return
        if all(one.written_by == "loaded" for one in training):
            yield self._error(trace, census, NewLayerFrozen, frozen, training)
            return
        last = output_module(trace, census)
        head = [one for one in frozen if one.module == last]
        loaded = any(one.written_by == "loaded" for one in own)
        is_plain = all(one.owner in LAYERS for one in (*head, *training))
        if head and not loaded and is_plain and not is_added_to_frozen(trace, own):
            yield self._error(trace, census, OutputFrozen, head, training)

    def _judge_later(self, trace: Trace, census: ParameterCensus) -> Iterator[Finding]:
        """Judge an optimizer that gets parameters which the one before it lacked and which are still frozen."""
        given, before = held_by(trace, census.optimizer), held_before(trace, census)
        own = [one for one in census.parameters if one.name in given]
        training = [one for one in own if one.requires_grad and one.gradient == "nonzero"]
        added = [one for one in own if one.name not in before]
        models = {one.model for one in training}
        frozen = [
            one
            for one in added
            if not one.requires_grad and one.used and one.name not in followed(trace)
        ]
        is_same = all(one.name in before for one in training)
        if frozen and training and is_same and all(one.model in models for one in frozen):
            yield self.found(
                trace,
                _diagnosis(census, StillFrozen, frozen, training),
                # Programs also pass all parameters of a model by habit, although a part should stay frozen.
                severity="note",
                step=census.step,
                location=place_of(trace, census.optimizer),
            )

    def _error(
        self,
        trace: Trace,
        census: ParameterCensus,
        kind: type[Frozen],
        frozen: list[ParameterSeen],
        training: list[ParameterSeen],
    ) -> Finding:
        freezes = freezing(trace)
        return self.found(
            trace,
            _diagnosis(census, kind, frozen, training),
            severity="error",
            step=census.step,
            location=freezes[-1] if freezes else place_of(trace, census.optimizer),
        )


def _diagnosis(
    census: ParameterCensus,
    kind: type[Frozen],
    frozen: list[ParameterSeen],
    training: list[ParameterSeen],
) -> Frozen:
    return kind(
        frozen=names_of(frozen),
        training=names_of(training),
        made_at=frozen[0].made_at,
        seen_at=census.step,
    )
