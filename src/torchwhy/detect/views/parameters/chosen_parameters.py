"""Whether a program means to train only a part: a head, the input of a network, an adapter in a frozen one."""

from __future__ import annotations

import re

from torchwhy.detect.views.graph.graph_queries import ForwardGraph
from torchwhy.detect.views.parameters.trained_parameters import output_module, place_of
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace

PART_BY_NAME = re.compile(
    r"\w\.\w+(\[\w+\])?\.parameters\(\)"
)  # `model.head.parameters()`: a part, chosen by name
JOINS = ("add", "cat")
PART_BY_VARIABLE = re.compile(r"(?<![\w.])(\w+)\.parameters\(\)")


def chooses_the_output(trace: Trace, census: ParameterCensus, held: list[ParameterSeen]) -> bool:
    """Tell whether the optimizer is given a part of the model on purpose, and the output layer is in it."""
    place = place_of(trace, census.optimizer)
    text = (place.expression or "") if place is not None else ""
    by_name = PART_BY_NAME.search(text) is not None or _is_of_a_part(text, held)
    last = output_module(trace, census)
    return by_name and any(one.module == last for one in held)


def _is_of_a_part(text: str, held: list[ParameterSeen]) -> bool:
    """Tell whether a part was chosen by a variable of its own: `readout.parameters()`, where `model` holds it."""
    variable = PART_BY_VARIABLE.search(text)
    parts = {one.module for one in held}
    return variable is not None and len(parts) == 1 and variable[1] != held[0].model


def trains_the_input(trace: Trace, census: ParameterCensus, lonely: list[ParameterSeen]) -> bool:
    """Tell whether all that the optimizer holds are tensors of no module, and they go into the model.

    An image, a latent code or a prompt is what such a program trains; the network only judges it.
    """
    held = [one for one in census.parameters if one.in_optimizer]
    if not held or any(one.owner is not None or one.model is not None for one in held):
        return False
    graph, names = ForwardGraph(trace), {one.name for one in lonely}
    for operation in graph.operations():
        if names.isdisjoint(operation.parameters):
            continue
        above = list(graph.ancestors(operation))[1:]
        if any(a.location == one.made_at and a.shape == one.shape for a in above for one in held):
            return True
    return False


def is_added_to_frozen(trace: Trace, own: list[ParameterSeen]) -> bool:
    """Tell whether the result of parameters that train is added, or joined, to the result of frozen ones alone.

    So an adapter, a low-rank product or a prompt works, which trains inside a frozen model on purpose.
    """
    graph = ForwardGraph(trace)
    training = {one.name for one in own if one.requires_grad}
    frozen = {one.name for one in own} - training
    for join in graph.operations(*JOINS):
        behind = [
            {name for above in graph.ancestors(made) for name in above.parameters}
            for made in graph.sources(join)
            if made is not None
        ]
        if any(names & training for names in behind) and any(
            names & frozen and not names & training for names in behind
        ):
            return True
    return False
