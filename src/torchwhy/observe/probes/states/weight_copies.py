"""Finds copies of a trained model: modules, or collections of tensors, with its parameters' sizes and no optimizer."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

import torch
from torch import nn

from torchwhy.observe.program.names import Names, borrowed_locals, parameters_of
from torchwhy.observe.torch_features.module_parts import parts_in
from torchwhy.plain_data import dataclass
from torchwhy.source.files import layer_of

MOST_MODULES = 100
DEEPEST = 2  # a module that holds a student and its teacher, inside of another
MOST_VARIABLES = 200
MOST_FRAMES = 4
MOST_LISTED = 2000  # tensors in a list; longer ones hold samples
FOREIGN = {"builtins", "torch", "numpy", "collections"}

Named = list[tuple[str, torch.Tensor]]


@dataclass(frozen=True)
class WeightCopy:
    """A copy, and a model that is trained and has parameters of the same sizes, with the tensors of both in pairs."""

    name: str
    model: str
    pairs: list[tuple[torch.Tensor, torch.Tensor]]  # of the copy, of the model
    is_module: bool


def copies_in(names: Names, held: set[int], frame: FrameType | None) -> Iterator[WeightCopy]:
    """Yield the copies; `held` are the identities of the parameters that optimizers hold."""
    trained: list[tuple[str, Named]] = []
    others: list[tuple[str, Named, bool]] = []
    known = list(_modules(names))
    for name, module in known:
        _sort(name, parameters_of(module), held, trained=trained, others=others)
    if not trained:
        return
    seen = {id(module) for _, module in known}
    for name, value in _of_objects(frame):
        if _is_module(value):
            if id(value) not in seen:
                _sort(name, parameters_of(value), held, trained=[], others=others)
        elif type(value) is list:
            others.append((name, [("", one) for one in value], False))
        else:
            others.append((name, list(value.items()), False))
    taken: set[int] = set()
    for name, tensors, is_module in others:
        for model, own in trained:
            pairs = _pairs(tensors, own, is_module=is_module)
            if pairs and id(pairs[0][0]) not in taken:
                yield WeightCopy(name, model, pairs, is_module)
        taken |= {id(tensor) for _, tensor in tensors}


def _sort(
    name: str,
    parameters: list[tuple[str, nn.Parameter]],
    held: set[int],
    *,
    trained: list[tuple[str, Named]],
    others: list[tuple[str, Named, bool]],
) -> None:
    """Put a module to those that are trained, or to those that no optimizer holds a part of."""
    own: Named = [(local, parameter) for local, parameter in parameters]
    if not own:
        return
    count = sum(id(parameter) in held for _, parameter in own)
    if count:
        trained.append((name, own))
    else:
        others.append((name, own, True))


def _modules(names: Names) -> Iterator[tuple[str, nn.Module]]:
    """Yield the outermost modules, then their parts, a few levels deep."""
    level = list(names.roots())
    count = 0
    for _ in range(DEEPEST + 1):
        deeper = []
        for name, module in level:
            count += 1
            if count > MOST_MODULES:
                return
            yield name, module
            deeper += [
                (f"{name}.{local}", part)
                for local, part in parts_in(module).items()
                if part is not None
            ]
        level = deeper


def _pairs(
    tensors: Named, own: Named, *, is_module: bool
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return the tensors of a copy beside those of the model; nothing if they do not belong together."""
    if is_module:
        same = [n for n, _ in tensors] == [n for n, _ in own] and len(tensors) == len(own)
        pairs = [(a, b) for (_, a), (_, b) in zip(tensors, own, strict=False)] if same else []
    elif all(not name for name, _ in tensors):  # a list in the order of `parameters()`
        pairs = [(a, b) for (_, a), (_, b) in zip(tensors, own, strict=False)]
        pairs = pairs if len(tensors) == len(own) > 1 else []
    else:
        by_name = dict(own)
        pairs = [(a, by_name[n]) for n, a in tensors if n in by_name]
        if 2 * len(pairs) < len(own):
            return []
    fits = all(a.shape == b.shape and a is not b for a, b in pairs)
    return pairs if fits and any(a.numel() > 1 for a, _ in pairs) else []


def _of_objects(frame: FrameType | None) -> Iterator[tuple[str, Any]]:
    """Yield modules and collections of tensors in variables of the program, and in the attributes of its objects."""
    for name, value in _variables(frame):
        if _holds_tensors(value):
            yield name, value
        elif not _is_module(value):
            for local, one in list(_attributes(value).items())[:MOST_VARIABLES]:
                if _is_module(one) or _holds_tensors(one):
                    yield f"{name}.{local}", one


def _variables(frame: FrameType | None) -> Iterator[tuple[str, Any]]:
    frames = 0
    while frame is not None and frames < MOST_FRAMES:
        if layer_of(frame.f_code.co_filename) == "user":
            frames += 1
            yield from list(borrowed_locals(frame).items())[:MOST_VARIABLES]
            if frame.f_code.co_name != "<module>":
                yield from list(frame.f_globals.items())[:MOST_VARIABLES]
        frame = frame.f_back


# The program's objects are asked by their type alone: `isinstance` and attributes may run code of theirs.
def _is_module(value: Any) -> bool:
    return issubclass(type(value), nn.Module)


def _holds_tensors(value: Any) -> bool:
    if type(value) is list:
        return 1 < len(value) <= MOST_LISTED and all(
            issubclass(type(one), torch.Tensor) for one in value
        )
    if type(value) not in (dict, OrderedDict):
        return False
    return bool(value) and all(
        type(name) is str and issubclass(type(one), torch.Tensor) for name, one in value.items()
    )


def _attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of an instance of a class of the program; nothing for others."""
    kind = type(value)
    is_foreign = kind.__module__.partition(".")[0] in FOREIGN
    if is_foreign or issubclass(kind, (type, Mapping)) or not kind.__dictoffset__:
        return {}
    own = object.__getattribute__(value, "__dict__")
    return own if type(own) is dict else {}
