"""What a program swears to: every tensor, number and random stream it names, as digests in `witness.json`."""

import hashlib
import json
import pickle
import random

import numpy
import torch

_sworn: list[tuple[str, str]] = []


def swear(name, value):
    """Write down a value bit by bit; the order counts, too."""
    if isinstance(value, torch.nn.Module):
        value = {"state": value.state_dict(), "gradients": [p.grad for p in value.parameters()]}
    elif isinstance(value, torch.optim.Optimizer) or hasattr(value, "state_dict"):
        value = value.state_dict()
    for path, leaf in _leaves(name, value):
        _sworn.append((path, leaf))


def _leaves(path, value):
    if isinstance(value, torch.Tensor):
        yield path, _digest(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}", item)
    elif isinstance(value, (list, tuple)):
        for position, item in enumerate(value):
            yield from _leaves(f"{path}[{position}]", item)
    elif isinstance(value, numpy.ndarray):
        yield path, hashlib.sha256(value.tobytes()).hexdigest()[:16]
    else:
        yield path, repr(value)


def _digest(tensor):
    kind = f"{type(tensor).__name__} {tensor.dtype} {tuple(tensor.shape)} {tensor.requires_grad} {tensor.is_leaf}"
    tensor = tensor.detach()
    if tensor.is_sparse:
        return f"{kind} {_digest(tensor._indices())} {_digest(tensor._values())}"
    plain = tensor.as_subclass(torch.Tensor).cpu().contiguous().reshape(-1)
    content = plain.view(torch.uint8).numpy().tobytes() if plain.numel() else b""
    return f"{kind} {hashlib.sha256(content).hexdigest()[:16]}"


def testify():
    """Add all random streams and write everything to the current directory."""
    swear("torch stream", torch.get_rng_state())
    swear("python stream", hashlib.sha256(pickle.dumps(random.getstate())).hexdigest())
    swear("numpy stream", numpy.random.get_state()[1:])
    with open("witness.json", "w") as file:
        json.dump(_sworn, file)


def seed(number=0):
    """Seed every stream."""
    random.seed(number)
    numpy.random.seed(number)
    torch.manual_seed(number)
