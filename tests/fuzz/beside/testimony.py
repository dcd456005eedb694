"""Beside a generated program: what it has noted and is still alive, and what torch counts of its tensors."""

# ruff: noqa: INP001 - it is copied beside a program

import gc
import weakref

import torch
import witness

_noted = {}


def note(name, *things):
    """Remember things without keeping them alive."""
    _noted.setdefault(name, []).extend(weakref.ref(thing) for thing in things)


def alive(when):
    """Swear to how many of each kind are alive; where Python collects when it likes, only after a collection."""
    if gc.isenabled() and when != "collected":
        return
    for name, found in sorted(_noted.items()):
        witness.swear(
            f"{when}: {name} alive", [sum(one() is not None for one in found), len(found)]
        )


def versions(model):
    """Swear to how often each tensor of the model was written, and to its hooks."""
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        hooks = tensor._backward_hooks
        witness.swear(f"version of {name}", [tensor._version, len(hooks) if hooks else 0])
    for name, module in model.named_modules():
        counts = [
            len(module._forward_hooks),
            len(module._forward_pre_hooks),
            len(module._backward_hooks),
        ]
        witness.swear(f"hooks of {name}", counts)


def states(optimizer):
    """Swear to how often each tensor of the optimizer's state was written, and remember it."""
    for number, state in enumerate(optimizer.state.values()):
        for name, value in state.items():
            if isinstance(value, torch.Tensor):
                witness.swear(f"version of state {number} {name}", value._version)
                note("states", value)
