"""Swears to what torch counts and checks besides numbers: versions, nodes, hooks, and errors about them.

The argument names the optimizer. The loss rests, so that a later step is looked at as well.
"""

from contextlib import nullcontext
import sys

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils._python_dispatch import TorchDispatchMode
import witness

witness.seed()
MAKERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=1e-5, momentum=0.9, foreach=True),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-5, foreach=True),
    "adam-loop": lambda p: torch.optim.Adam(p, lr=1e-5, foreach=False, amsgrad=True),
    "adam-fused": lambda p: torch.optim.Adam(p, lr=1e-5, fused=True, amsgrad=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-5, foreach=True, weight_decay=0.1),
    "adamw-fused": lambda p: torch.optim.AdamW(p, lr=1e-5, fused=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=1e-6, foreach=True, centered=True, momentum=0.1),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=1e-5, foreach=True),
    "radam": lambda p: torch.optim.RAdam(p, lr=1e-6, foreach=True),
    "differentiable": lambda p: torch.optim.Adam([q.clone() for q in p], lr=1e-5, differentiable=True),
    "scaler": lambda p: torch.optim.Adam(p, lr=1e-5),
    "mode-above": lambda p: torch.optim.Adam(p, lr=1e-5),
    "mode-below": lambda p: torch.optim.Adam(p, lr=1e-5),
    "lbfgs": lambda p: torch.optim.LBFGS(p, lr=1e-6, max_iter=3),
    "own": lambda p: Own(p, {"lr": 1e-5}),
}
LOOKED_AT = (0, 1, 23, 24, 25, 26, 27, 30, 39)  # the first ones, the last before and the first of the cruise, and more


class Counting(TorchDispatchMode):
    """A mode of the program: inside one, torch does not count the writes of `_foreach` operations."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class Own(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            with_gradient = [p for p in group["params"] if p.grad is not None]
            gradients = [p.grad for p in with_gradient]
            torch._foreach_clamp_max_(gradients, 1.0)
            torch._foreach_add_(with_gradient, gradients, alpha=-group["lr"])


def state_of(optimizer):
    tensors = [value for state in optimizer.state.values() for value in state.values()]
    return [tensor for tensor in tensors if isinstance(tensor, torch.Tensor)]


def versions(tensors):
    return [None if tensor is None else tensor._version for tensor in tensors]


def nodes(node, depth=12):
    if node is None or not depth:
        return []
    return [node.name(), *(name for child, _ in node.next_functions for name in nodes(child, depth - 1))]


def failure(act):
    try:
        act()
    except RuntimeError as error:
        return str(error).split("0x")[0]
    return "none"


def add_hooks(model, optimizer, calls):
    """Let the program note every kind of hook, in the order in which torch calls them."""
    first, last = model[0], model[-1]
    first.register_forward_pre_hook(lambda *_: calls.append("forward pre"))
    first.register_forward_hook(lambda *_: calls.append("forward"))
    last.register_full_backward_pre_hook(lambda *_: calls.append("backward pre"))
    last.register_full_backward_hook(lambda *_: calls.append("backward"))
    for name, parameter in model.named_parameters():
        parameter.register_hook(lambda gradient, name=name: calls.append(f"{name} {gradient._version}"))
        parameter.register_post_accumulate_grad_hook(lambda p, name=name: calls.append(f"kept {name} {p.grad._version}"))
    optimizer.register_step_pre_hook(lambda *_: calls.append("step pre"))
    optimizer.register_step_post_hook(lambda *_: calls.append("step post"))


kind = sys.argv[1]
below = Counting() if kind == "mode-below" else nullcontext()
below.__enter__()
model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))
averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
optimizer = MAKERS[kind](model.parameters())
calls = []
add_hooks(model, optimizer, calls)
scaler = torch.amp.GradScaler("cpu", enabled=kind == "scaler", init_scale=4.0)
x, y = torch.randn(32, 6), torch.randint(3, (32,))


def loss_of():
    optimizer.zero_grad(set_to_none=kind != "adam")
    loss = nn.functional.cross_entropy(model(x), y)
    loss.register_hook(lambda _: calls.append("loss"))
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    return loss


for step in range(40):
    held = model(x).pow(2).mean()
    loss = loss_of() if kind != "lbfgs" else None
    with Counting() if kind == "mode-above" else nullcontext():
        if kind == "lbfgs":
            optimizer.step(loss_of)
        else:
            scaler.step(optimizer)
    scaler.update()
    averaged.update_parameters(model)
    parameters = list(model.parameters())
    witness.swear(f"{step} parameters", versions(parameters))
    witness.swear(f"{step} gradients", versions(p.grad for p in parameters))
    witness.swear(f"{step} buffers", versions(model.buffers()))
    witness.swear(f"{step} averages", versions(averaged.parameters()))
    witness.swear(f"{step} states", versions(state_of(optimizer)))
    witness.swear(f"{step} nodes", nodes(held.grad_fn))
    witness.swear(f"{step} calls", calls)
    calls.clear()
    if step in LOOKED_AT:
        witness.swear(f"{step} stale", failure(held.backward))
        if loss is not None:
            witness.swear(f"{step} freed", failure(loss.backward))
        written = torch.ones(3, requires_grad=True).exp()
        total = (written * written).sum()
        written.add_(1)
        witness.swear(f"{step} written", failure(total.backward))
        (first,) = torch.autograd.grad((x * model[0].weight.sum()).pow(2).sum(), model[0].weight, create_graph=True)
        witness.swear(f"{step} twice", failure(first.sum().backward))
        calls.clear()
below.__exit__(None, None, None)
witness.swear("model", model)
witness.testify()
