"""Do train and eval mode agree on a batch of training?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import Need, answered, experiment
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import SourceSpan
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

SLUG = "modes-agree"
CLOSE = 0.1  # Share of the first loss: statistics of a batch and those of many differ by sampling alone.


class ModesAgree(Diagnosis):
    """The loss of one batch in both modes, and with the statistics that captured batches have."""

    train: float
    evaluated: float
    followed: float
    layers: int
    message = "the loss of a batch is {train:.4g} in train mode and {evaluated:.4g} in eval mode"


class ModesDisagree(ModesAgree):
    """The running statistics never moved, and in eval mode the progress of training is gone."""

    steps: int
    still: int
    message = (
        "the running statistics of {still} of {layers} layers did not move in {steps} steps, because their momentum is "
        "0: the loss of a batch is {train:.4g} in train mode, {evaluated:.4g} in eval mode, and {followed:.4g} in eval "
        "mode with the statistics of other batches"
    )
    advice = "use a momentum above 0 (torch's default is 0.1, the share of the new batch)"


def _answer(trace: Trace) -> Mapping[str, Any]:
    return next((one.answer for one in answered(trace, SLUG)), {})


def layer_place(trace: Trace) -> SourceSpan | None:
    """Return where the program calls the first layer of the answer."""
    return next((one.places.get("layer") for one in answered(trace, SLUG)), None)


def measured(trace: Trace) -> ModesAgree | None:
    """Return the losses in both modes."""
    facts = _answer(trace)
    if not facts:
        return None
    return ModesAgree(
        train=decode(facts["train"]),
        evaluated=decode(facts["eval"]),
        followed=decode(facts["followed"]),
        layers=int(facts["layers"]),
    )


def disagreement(trace: Trace) -> ModesDisagree | None:
    """Return the losses if statistics without momentum cost half of what training gained, and others would not."""
    facts, found = _answer(trace), measured(trace)
    if found is None or not facts["without momentum"]:
        return None
    gained = decode(facts["first"]) - found.train
    lost, control = found.evaluated - found.train, abs(found.followed - found.train)
    if not gained > 0 or not lost > max(gained / 2, 2 * control):
        return None
    return ModesDisagree(
        train=found.train,
        evaluated=found.evaluated,
        followed=found.followed,
        layers=found.layers,
        steps=int(facts["steps"]),
        still=int(facts["without momentum"]),
    )


def _agree(trace: Trace) -> bool:
    facts, found = _answer(trace), measured(trace)
    if found is None:
        return False
    apart = abs(found.evaluated - found.train)
    control = abs(found.followed - found.train)
    return apart <= max(2 * control, CLOSE * abs(decode(facts["first"])))


def _why_unclear(trace: Trace) -> str:
    found = measured(trace)
    if found is None:
        return "no training step was captured"
    if _answer(trace)["unmoved"]:
        return f"{found}, and the program sets the running statistics back"
    return f"{found}: the running statistics still follow the weights"


QUESTION = ask(
    SLUG,
    "Do train and eval mode agree?",
    experiment(SLUG, "no training step was captured"),
    Need(_agree, _why_unclear),
    by=measured,
    denied=disagreement,
    in_rehearsal=True,
)
