"""Compares the keys and sizes of a state with those of the model (or optimizer) that refused to load it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn

from torchwhy.observe.program.names import Names
from torchwhy.plain_data import dataclass
from torchwhy.replay.crash.everyday.torch_calls import frame_of
from torchwhy.replay.crash.frames.construction import Builder
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts

Sizes = dict[str, list[int]]
MOST_NAMES = 3
MOST_PARTS = 64
MOST_KEYS = 100_000
MODULE, OPTIMIZER, LOAD = "torch.nn.modules.module", "torch.optim.optimizer", "load_state_dict"


def note_state(frames: list[TracebackFrame], hidden: HiddenFacts, names: Names) -> None:
    """Note how a state and what it was loaded into differ."""
    frame = frame_of(frames, MODULE, LOAD)
    owner = frame.variables.get("self") if frame is not None else None
    if frame is not None and isinstance(owner, nn.Module):
        _note_model_state(frame.variables.get("state_dict"), owner, hidden)
        _note_layer(hidden, owner, names, frames)
    frame = frame_of(frames, OPTIMIZER, LOAD)
    owner = frame.variables.get("self") if frame is not None else None
    if frame is not None and isinstance(owner, torch.optim.Optimizer):
        _note_optimizer_state(frame.variables.get("state_dict"), owner, hidden)


def _note_model_state(given: Any, module: nn.Module, hidden: HiddenFacts) -> None:
    if isinstance(given, nn.Module):
        given, hidden.facts["state_is_model"] = given.state_dict(), True
    if not isinstance(given, Mapping):
        hidden.facts["state_type"] = type(given).__name__
        return
    wanted, has = sizes_in(module.state_dict()), sizes_in(given)
    if len(wanted) + len(has) > MOST_KEYS:
        return
    missing, surplus = [k for k in wanted if k not in has], [k for k in given if k not in wanted]
    hidden.facts.update(
        state_keys=float(len(given)),
        model_keys=float(len(wanted)),
        shared_keys=float(len(wanted) - len(missing)),
        missing_keys=float(len(missing)),
        missing_names=", ".join(missing[:MOST_NAMES]),
        surplus_keys=float(len(surplus)),
        surplus_names=", ".join(str(key) for key in surplus[:MOST_NAMES]),
    )
    odd = [key for key in wanted if key in has and has[key] != wanted[key]]
    if odd:
        hidden.facts.update(
            odd_sizes=float(len(odd)),
            odd_key=odd[0],
            state_size=list(has[odd[0]]),
            model_size=list(wanted[odd[0]]),
        )
    if missing:
        _note_relation(given, wanted, has, hidden)


def sizes_in(state: Mapping[Any, Any]) -> Sizes:
    """Return the shapes of the tensors in a state by their keys."""
    return {
        key: list(value.shape)
        for key, value in state.items()
        if isinstance(key, str) and isinstance(value, torch.Tensor)
    }


def _note_relation(
    given: Mapping[Any, Any], wanted: Sizes, has: Sizes, hidden: HiddenFacts
) -> None:
    """Note what would make most keys fit: an entry of the state, a part of the names, or other names."""
    fitting = len(wanted.keys() & has.keys())
    within = _state_within(given, wanted)
    if within is not None and within.fits > fitting:
        hidden.facts.update(state_within=within.what, fit_then=float(within.fits))
        return
    inner = _prefixed_within(given, wanted)
    if inner is not None and inner[1].fits > fitting:
        key, part = inner
        hidden.facts.update(state_within=key, state_prefix=part.what, fit_then=float(part.fits))
        hidden.facts["state_prefix_leads"] = _leads(sizes_in(given[key]), part.what)
        return
    for side, longer, shorter in (("state", has, wanted), ("model", wanted, has)):
        found = surplus_segment(longer, shorter)
        if found is not None and found.fits > fitting:
            hidden.facts[f"{side}_prefix"] = found.what
            hidden.facts[f"{side}_prefix_leads"] = _leads(longer, found.what)
            hidden.facts["fit_then"] = float(found.fits)
            return
    missing = {key: size for key, size in wanted.items() if key not in has}
    surplus = {key: size for key, size in has.items() if key not in wanted}
    if missing and list(missing.values()) == list(surplus.values()):
        hidden.facts["renamed"] = True


@dataclass(frozen=True)
class Relation:
    """A change of a state, and how many keys of the model it fits then."""

    what: str
    fits: int


def _state_within(given: Mapping[Any, Any], wanted: Sizes) -> Relation | None:
    """Return the entry of a checkpoint that holds the model's state."""
    inner = [
        Relation(str(key), _fit(wanted, sizes_in(value)))
        for key, value in given.items()
        if isinstance(key, str) and isinstance(value, Mapping)
    ]
    best = max(inner, key=lambda one: one.fits, default=None)
    return best if best is not None and best.fits else None


def _prefixed_within(given: Mapping[Any, Any], wanted: Sizes) -> tuple[str, Relation] | None:
    """Return the entry of a checkpoint that holds the model's state under longer names, and the part too much."""
    found = [
        (key, part)
        for key, value in given.items()
        if isinstance(key, str) and isinstance(value, Mapping)
        if (part := surplus_segment(sizes_in(value), wanted)) is not None
    ]
    return max(found, key=lambda one: one[1].fits, default=None)


def _leads(names: Iterable[str], part: str) -> bool:
    """Tell whether a part is not in the middle of any name, so that removing it at the start is enough."""
    return not any(f".{part}" in name.removeprefix(part) for name in names)


def surplus_segment(longer: Sizes, shorter: Sizes) -> Relation | None:
    """Return the part of the names (`module.`) without which most keys of one state are those of the other.

    It may be several parts at the start (`module._orig_mod.`), or a single one anywhere in the names.
    """
    parts: dict[str, None] = {}
    for key in longer:
        names = key.split(".")
        for count in range(1, len(names)):
            parts[".".join(names[:count]) + "."] = None
            parts[f"{names[count - 1]}."] = None
    found = [
        Relation(part, _fit(shorter, {_without(key, part): size for key, size in longer.items()}))
        for part in list(parts)[:MOST_PARTS]
    ]
    best = max(found, key=lambda one: one.fits, default=None)
    return best if best is not None and 2 * best.fits > len(shorter) else None


def _without(name: str, part: str) -> str:
    """Return a key without a part: at its start, or a single name anywhere."""
    if name.startswith(part):
        return name.removeprefix(part)
    return ".".join(one for one in name.split(".") if f"{one}." != part)


def _fit(wanted: Sizes, has: Sizes) -> int:
    """Return how many keys of a model a state has in the same size."""
    return sum(has.get(key) == size for key, size in wanted.items())


def _note_layer(
    hidden: HiddenFacts, module: nn.Module, names: Names, frames: list[TracebackFrame]
) -> None:
    """Note where the layer is made whose parameter has another size in the state."""
    key = hidden.facts.get("odd_key")
    if not isinstance(key, str):
        return
    layer = module.get_submodule(key.rpartition(".")[0])
    files = [one.filename for one in reversed(frames) if one.layer == "user"]
    made = Builder(names, files).made_at(layer)
    if made is not None:
        hidden.places["odd_layer"] = made.span


def _note_optimizer_state(
    given: Any, optimizer: torch.optim.Optimizer, hidden: HiddenFacts
) -> None:
    hidden.facts["optimizer"] = type(optimizer).__name__
    groups = given.get("param_groups") if isinstance(given, Mapping) else None
    if not isinstance(groups, list):
        return
    hidden.facts["optimizer_groups"] = [len(group["params"]) for group in optimizer.param_groups]
    hidden.facts["state_groups"] = [len(group["params"]) for group in groups]
