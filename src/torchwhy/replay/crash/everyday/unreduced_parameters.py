"""Names the parameters for whose gradients DistributedDataParallel waited in vain, and where they are made."""

from __future__ import annotations

import re
from typing import Any

from torch import nn

from torchwhy.observe.program.names import Names
from torchwhy.replay.crash.frames.construction import Builder
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts

UNREDUCED = "Expected to have finished reduction"
INDICES = re.compile(r"Parameter indices which did not receive grad for rank \d+: ([\d ]+)")
MOST_NAMES = 4


def note_unreduced_parameters(
    message: str, frames: list[TracebackFrame], hidden: HiddenFacts, names: Names
) -> None:
    """Note the parameters that the message counts, in the order in which the wrapper has them."""
    wrapper = next((one for frame in frames if (one := _wrapper_in(frame)) is not None), None)
    found = INDICES.search(message)
    if wrapper is None or found is None:
        return
    ignored = getattr(wrapper, "parameters_to_ignore", ())
    reduced = [
        (name, parameter)
        for name, parameter in wrapper.module.named_parameters()
        if parameter.requires_grad and name not in ignored
    ]
    missing = [int(word) for word in found[1].split()]
    if not missing or max(missing) >= len(reduced):
        return
    chosen = [reduced[place][0] for place in missing]
    hidden.facts["unreduced"] = ", ".join(chosen[:MOST_NAMES])
    hidden.facts["unreduced_count"] = float(len(chosen))
    hidden.facts["reduced_count"] = float(len(reduced))
    hidden.facts["finds_unused"] = bool(getattr(wrapper, "find_unused_parameters", False))
    layer = wrapper.module.get_submodule(chosen[0].rpartition(".")[0])
    files = [one.filename for one in reversed(frames) if one.layer == "user"]
    made = Builder(names, files).made_at(layer)
    if made is not None:
        hidden.places["unreduced"] = made.span


def _wrapper_in(frame: TracebackFrame) -> Any:
    owner = frame.variables.get("self")
    return owner if isinstance(owner, nn.parallel.DistributedDataParallel) else None
