"""Which inquest fits an exception: asked by the autopsy, once per exception."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from torchwhy.replay.crash.frames.traceback_frames import Spot
from torchwhy.replay.crash.hidden import (
    cut_graph,
    fetching,
    freed_graph,
    reversed_array,
    shy_modules,
    written_in_place,
)
from torchwhy.replay.crash.hidden.clues import Clues
from torchwhy.replay.crash.hidden.fetching import Again

if TYPE_CHECKING:
    from torchwhy.replay.equipment import Stage

FREED = "backward through the graph a second time"
NO_GRAPH = "does not require grad and does not have a grad_fn"
IN_PLACE = "modified by an inplace operation"
EMPTY = "optimizer got an empty parameter list"
NOTHING = "NoneType"
NEGATIVE = "stride in the given numpy array is negative"


def inquire(stage: Stage, message: str, spots: list[Spot], again: Again | None = None) -> Clues:
    """Return what can be found out about an exception beyond its traceback."""
    if FREED in message:
        return freed_graph.look(spots, stage.session.sentinel.sequence_before)
    if NO_GRAPH in message:
        return cut_graph.look(spots)
    if IN_PLACE in message:
        return written_in_place.look(
            spots, message, stage.microscope.writes, stage.session.sentinel.sequence_before
        )
    clues = fetching.look(spots, again)
    if NEGATIVE in message:
        clues = reversed_array.look(spots, clues)
    if EMPTY in message:
        shy_modules.note_hidden_layers(spots, clues)
    if NOTHING in message:
        shy_modules.note_silent_forward(spots, clues)
    _note_parameter(stage, spots, clues)
    _note_mode(spots, clues)
    return clues


def _note_parameter(stage: Stage, spots: list[Spot], clues: Clues) -> None:
    """Name the parameter that an initialiser of torch was given."""
    for spot in spots:
        if not spot.frame.f_code.co_filename.endswith("init.py"):
            continue
        tensor = spot.variables.get("tensor")
        if isinstance(tensor, nn.Parameter):
            name = stage.session.names.parameters().get(id(tensor))
            clues.facts.update(parameter=name, parameter_shape=list(tensor.shape))
            clues.facts["initialiser"] = spot.frame.f_code.co_name
            return


def _note_mode(spots: list[Spot], clues: Clues) -> None:
    """Note whether the outermost running module was in training mode."""
    for spot in spots:
        owner = spot.variables.get("self")
        if isinstance(owner, nn.Module):
            # A module whose own __init__ did not call that of nn.Module has no mode yet.
            clues.facts["training"] = bool(vars(owner).get("training", True))
            return
