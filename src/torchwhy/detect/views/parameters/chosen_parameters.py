"""Whether a program trains only a part on purpose: a head, the input of a network, an adapter in a frozen one."""

from __future__ import annotations

import re

from torchwhy.detect.views.graph.graph_queries import ForwardGraph
from torchwhy.detect.views.parameters.trained_parameters import output_module, place_of
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace

# Matches `model.head.parameters()`, which chooses a part by name.
PART_BY_NAME = re.compile(r"\w\.\w+(\[\w+\])?\.parameters\(\)")
JOINS = ("add", "cat")
PART_BY_VARIABLE = re.compile(r"(?<![\w.])(\w+)\.parameters\(\)")


def chooses_the_output(trace: Trace, census: ParameterCensus, held: list[ParameterSeen]) -> bool:
    """Tell whether the program gives the optimizer a part of the model on purpose, with the output layer in it."""
    place = place_of(trace, census.optimizer)
    text = (place.expression or "") if place is not None else ""
    by_name = PART_BY_NAME.search(text) is not None or _is_of_a_part(text, held)
    if not trace.has_all("modules"):
        return by_name  # which module made the output is unknown
    last = output_module(trace, census)
    return by_name and any(one.module == last for one in held)


def _is_of_a_part(text: str, held: list[ParameterSeen]) -> bool:
    """Tell whether a variable of its own names the part: `readout.parameters()`, where `model` holds `readout`."""
    variable = PART_BY_VARIABLE.search(text)
    parts = {one.module for one in held}
    return variable is not None and len(parts) == 1 and variable[1] != held[0].model


def trains_the_input(trace: Trace, census: ParameterCensus, others: list[ParameterSeen]) -> bool:
    """Tell whether the optimizer holds only tensors of no module, and they feed the layers of the `others`.

    Such a program trains an image, a latent code or a prompt; the network only scores it.
    """
    held = [one for one in census.parameters if one.in_optimizer]
    if not held or any(one.owner is not None or one.model is not None for one in held):
        return False
    graph, names = ForwardGraph(trace), {one.name for one in others}
    for operation in graph.operations():
        if names.isdisjoint(operation.parameters):
            continue
        above = list(graph.ancestors(operation))[1:]
        if any(a.location == one.made_at and a.shape == one.shape for a in above for one in held):
            return True
    return not trace.has_all("operations")  # it may feed them in what was left out


def is_added_to_frozen(trace: Trace, own: list[ParameterSeen]) -> bool:
    """Tell whether the result of trainable parameters is added or concatenated to that of frozen ones alone.

    Adapters, low-rank products and prompts work like this: they train inside a frozen model on purpose.
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
    return not trace.has_all("operations")
