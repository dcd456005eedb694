"""Chooses which hidden cause to search for, by the message of the exception."""

from __future__ import annotations

from torch import nn

from torchwhy.observe.program.names import Names
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.replay.crash.everyday.everyday_facts import note_everyday
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden import (
    cut_graph,
    fetching,
    freed_graph,
    module_mistakes,
    reversed_array,
    written_in_place,
)
from torchwhy.replay.crash.hidden.fetching import RefetchedBatch
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts
from torchwhy.replay.microscope.dispatch_mode import Microscope

FREED = "backward through the graph a second time"
NO_GRAPH = "does not require grad and does not have a grad_fn"
NO_BACKWARD = "object has no attribute 'backward'"
IN_PLACE = "modified by an inplace operation"
EMPTY = "optimizer got an empty parameter list"
NOTHING = "NoneType"
NEGATIVE = "stride in the given numpy array is negative"


class HiddenCauses:
    """Searches for what the message of an exception suggests."""

    def __init__(self, microscope: Microscope, names: Names, state: TrainingState) -> None:
        self._microscope = microscope
        self._names = names
        self._state = state

    def find(
        self,
        message: str,
        frames: list[TracebackFrame],
        refetched: RefetchedBatch | None = None,
    ) -> HiddenFacts:
        """Return what can be found out about an exception beyond its traceback."""
        freed_before = self._state.next_node_before
        if FREED in message:
            return freed_graph.look(frames, freed_before)
        if NO_GRAPH in message or (NO_BACKWARD in message and NOTHING not in message):
            return cut_graph.look(frames)
        if IN_PLACE in message:
            writes = self._microscope.writes
            return written_in_place.look(frames, message, writes, freed_before)
        hidden = fetching.look(frames, refetched)
        if NEGATIVE in message:
            hidden = reversed_array.look(frames, hidden)
        if EMPTY in message:
            module_mistakes.note_hidden_layers(frames, hidden)
        if NOTHING in message:
            module_mistakes.note_silent_forward(frames, hidden)
        self._note_parameter(frames, hidden)
        _note_mode(frames, hidden)
        note_everyday(message, frames, hidden, self._names)
        return hidden

    def _note_parameter(self, frames: list[TracebackFrame], hidden: HiddenFacts) -> None:
        """Name the parameter that an initialiser of torch got."""
        for frame in frames:
            if not frame.filename.endswith("init.py"):
                continue
            tensor = frame.variables.get("tensor")
            if isinstance(tensor, nn.Parameter):
                name = self._names.parameters().get(id(tensor))
                hidden.facts.update(parameter=name, parameter_shape=list(tensor.shape))
                hidden.facts["initialiser"] = frame.code.co_name
                return


def _note_mode(frames: list[TracebackFrame], hidden: HiddenFacts) -> None:
    """Note whether the outermost running module was in training mode."""
    for frame in frames:
        owner = frame.variables.get("self")
        if isinstance(owner, nn.Module):
            # A module whose own __init__ did not call that of nn.Module has no mode yet.
            hidden.facts["training"] = bool(vars(owner).get("training", True))
            return
