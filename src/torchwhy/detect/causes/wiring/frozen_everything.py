from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.views.parameters.trained_parameters import (
    followed,
    held_before,
    held_by,
    made,
    named,
    output_module,
    statements_found,
)
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

PLAIN = (
    "Linear",
    "Conv",
    "LSTM",
    "GRU",
    "RNN",
    "BatchNorm",
    "LayerNorm",
    "GroupNorm",
    "Bilinear",
)  # layers of torch
ADDED = (
    "adapter",
    "lora",
    "prompt",
    "prefix",
)  # names of what is trained inside of a frozen model on purpose


class FrozenEverything(Detector):
    """The parameters that should learn do not require gradients."""

    name = "frozen-everything"
    needs = frozenset({"census"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for census in trace.of(ParameterCensus):
            held = [one for one in census.parameters if one.in_optimizer]
            if held and not any(one.requires_grad for one in held):
                yield self._finding(
                    trace,
                    census,
                    "every parameter of the optimizer is frozen: nothing learns",
                    held,
                    [],
                )
                return
            for model in dict.fromkeys(one.model for one in census.parameters if one.model):
                own = [one for one in census.parameters if one.model == model]
                yield from self._judge_model(trace, census, own)
            if census.look:
                yield from self._judge_later(trace, census)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.unfrozen(finding, source)

    def _judge_later(self, trace: Trace, census: ParameterCensus) -> Iterator[Finding]:
        """Judge an optimizer that is given what the one before it left out, and finds that frozen still."""
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
            message = (
                f"this optimizer is given {named(frozen)} besides what was trained before, but they are still "
                "frozen: it trains the same as the one before it"
            )
            maker = made(trace, census.optimizer)
            yield replace(
                self._finding(trace, census, message, frozen, training),
                # All parameters of a model are handed over by habit, too, where a part is to stay as it is.
                severity="note",
                location=maker.location if maker is not None else None,
                fixes=(
                    Fix(
                        "if they are to learn, set requires_grad to True before it is made",
                        safety="show-only",
                    ),
                ),
            )

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
            message = f"the new layer is frozen, the loaded weights train: {named(frozen)} keep their random values"
            yield self._finding(trace, census, message, frozen, training)
            return
        last = output_module(trace, census)
        head = [one for one in frozen if one.module == last]
        loaded = any(one.written_by == "loaded" for one in own)
        if head and not loaded and all(_is_plain(one) for one in (*head, *training)):
            message = f"the output layer is frozen at random values ({named(head)}), while layers before it train"
            yield self._finding(trace, census, message, head, training)

    def _finding(
        self,
        trace: Trace,
        census: ParameterCensus,
        message: str,
        frozen: list[ParameterSeen],
        training: list[ParameterSeen],
    ) -> Finding:
        trained = (
            f"in the optimizer, these train: {named(training)}"
            if training
            else "in the optimizer, none trains"
        )
        return Finding(
            detector=self.name,
            severity="error",
            message=message,
            step=census.step,
            rank=trace.rank,
            location=_place(trace, census),
            evidence=(
                Evidence(
                    f"{len(frozen)} tensors are used and do not require gradients: {named(frozen)}",
                    value=float(len(frozen)),
                    step=census.step,
                    location=frozen[0].made_at,
                ),
                Evidence(trained, value=float(len(training))),
            ),
            fixes=(
                Fix(
                    "freeze before the new layer is put in, or set its requires_grad to True",
                    safety="show-only",
                ),
            ),
        )


def _place(trace: Trace, census: ParameterCensus) -> SourceSpan | None:
    freezes = statements_found(trace).freezes
    if freezes:
        return freezes[-1]
    maker = made(trace, census.optimizer)
    return maker.location if maker is not None else None


def _is_plain(one: ParameterSeen) -> bool:
    """Tell whether a parameter belongs to an ordinary layer, not to something added to a frozen model."""
    return (one.owner or "").startswith(PLAIN) and not any(
        word in one.name.lower() for word in ADDED
    )
