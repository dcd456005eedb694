"""Findings about parameters that get gradients and that nobody trains, each found in another way."""

from __future__ import annotations

from torchwhy.detect.views.parameters.trained_parameters import (
    followed,
    made,
    named,
    statements_found,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import LateParameter, LateParameters

SHOWN_STATEMENTS = 3


def about_leaf(
    detector: str, trace: Trace, census: ParameterCensus, leaf: ParameterSeen
) -> Finding:
    """Tell of a plain tensor of the program."""
    maker = made(trace, census.optimizer)
    return Finding(
        detector=detector,
        severity="warning",
        message=f"`{leaf.name}` requires a gradient and gets one, but no optimizer holds it: it never changes",
        step=census.step,
        rank=trace.rank,
        location=maker.location if maker is not None else None,
        evidence=(
            Evidence(
                f"a tensor of shape {leaf.shape}, no nn.Parameter of a model; it is unchanged, bit for bit",
                value=float(elements_of(leaf)),
                step=census.step,
                location=leaf.made_at,
            ),
        ),
        fixes=(
            Fix(
                f"give it to the optimizer, too: [*model.parameters(), {leaf.name}]",
                safety="show-only",
            ),
        ),
    )


def about_thawed(
    detector: str, trace: Trace, census: ParameterCensus, late: list[ParameterSeen]
) -> Finding:
    """Tell of those that were unfrozen after the first step."""
    maker = made(trace, census.optimizer)
    kind = maker.kind if maker is not None else "the optimizer"
    looks = followed(trace)
    steps = max(looks[one.name].thawed_for for one in late)
    return Finding(
        detector=detector,
        severity="error",
        message=(
            f"{named(late)} of `{late[0].model}` were frozen at the first step of {kind} and unfrozen later, "
            "but no optimizer holds them: they stay as they were"
        ),
        step=census.step,
        rank=trace.rank,
        location=maker.location if maker is not None else None,
        evidence=(
            Evidence(
                f"{len(late)} tensors with {sum(elements_of(one) for one in late)} elements have been getting "
                f"gradients for {steps} steps or more, and are unchanged, bit for bit",
                value=float(steps),
            ),
            *(
                Evidence(f"unfrozen here: {place.expression}", location=place)
                for place in statements_found(trace).thaws[:SHOWN_STATEMENTS]
            ),
        ),
        fixes=(
            Fix(
                "where they are unfrozen, give them to the optimizer: "
                'optimizer.add_param_group({"params": …}); or give it all parameters from the start: '
                "it passes over those without a gradient",
                safety="show-only",
            ),
        ),
    )


def about_added(
    detector: str, trace: Trace, look: LateParameters, added: list[LateParameter]
) -> Finding:
    """Tell of those that joined a model after the first step."""
    passes = max(one.passes for one in added)
    maker = made(trace, 0)
    return Finding(
        detector=detector,
        severity="error",
        message=(
            f"{named(added)} joined `{added[0].model}` in the middle of training, "
            "but no optimizer holds them: they keep their start values"
        ),
        step=min(one.since for one in added),
        rank=trace.rank,
        location=look.places[-1] if look.places else maker.location if maker else None,
        evidence=(
            Evidence(
                f"{len(added)} tensors that were not there at the first step have got gradients from {passes} "
                "backward passes or more, and are unchanged, bit for bit",
                value=float(passes),
                step=look.step,
            ),
        ),
        fixes=(
            Fix(
                "where they join, give them to the optimizer: "
                'optimizer.add_param_group({"params": …})',
                safety="show-only",
            ),
        ),
    )


def elements_of(one: ParameterSeen) -> int:
    """Return how many numbers a parameter holds."""
    count = 1
    for size in one.shape:
        count *= size
    return count
