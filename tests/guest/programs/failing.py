"""Fails and goes on: swears to everything that a run with `--on-failure continue` or `skip` must leave alone.

Arguments: the scene, the failing step, and `by-hand` to skip bad updates as `--on-failure skip` promises to.
"""

import copy
import random
import sys

import numpy
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
import witness

scene, failing, by_hand = sys.argv[1], int(sys.argv[2]), "by-hand" in sys.argv
STEPS = 40
witness.seed()


class Rows(Dataset):
    """Draws from every random stream, and counts how often it was asked."""

    def __init__(self, bad):
        self.rows, self.bad, self.asked = torch.randn(16 * STEPS, 6), bad, 0

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        self.asked += 1
        row = self.rows[index] + 0.01 * random.random() + 0.01 * numpy.random.rand() + 0.01 * torch.rand(6)
        return (row * torch.nan if index in self.bad else row), index % 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Dropout(0.2))
        self.head = nn.Linear(16, 3)
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.calls += 1
        return self.head(self.body(x))


class Own(torch.optim.Optimizer):
    """Does not expect a parameter without a gradient, and counts its steps in three places."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 1e-2, "count": 0})
        self.count = 0

    @torch.no_grad()
    def step(self, closure=None):
        self.count += 1
        for group in self.param_groups:
            group["count"] += 1
            for p in group["params"]:
                state = self.state[p]
                state["mean"] = state.get("mean", torch.zeros_like(p)).mul(0.9).add(p.grad)
                p.sub_(state["mean"], alpha=group["lr"])


class Skipping:
    """What `skip` promises, done by the program itself: weights, state and buffers stay as before a bad batch."""

    def __init__(self, optimizer, model):
        self.optimizer, self.model = optimizer, model
        self.keep()

    def keep(self):
        self.buffers = [(b, b.clone()) for b in self.model.buffers()]

    def step(self, losses, closure):
        optimizer, parameters = self.optimizer, list(self.model.parameters())
        values = [p.detach().clone() for p in parameters]
        state, count = copy.deepcopy(optimizer.state_dict()), getattr(optimizer, "count", None)
        gradients = [p.grad for p in parameters if p.grad is not None and not closure]
        was_finite = finite([*losses, *gradients])
        result = optimizer.step(*closure)
        if not was_finite or not finite([*losses, *parameters]):
            with torch.no_grad():
                for tensor, value in [*zip(parameters, values), *self.buffers]:
                    tensor.copy_(value)
            optimizer.load_state_dict(state)
            optimizer.count = count
            optimizer.zero_grad()
        self.keep()
        return result


def finite(tensors):
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors)


def make_optimizer(net):
    if scene == "own":
        return Own(net.parameters())
    if scene == "lbfgs":
        return torch.optim.LBFGS(net.parameters(), lr=1e-2, max_iter=2)
    return torch.optim.Adam(net.parameters(), lr=1e-2, fused=scene == "fused")


def batches():
    """Give the batches of one epoch; one of them is bad."""
    if scene == "slices":
        rows, generator = Rows(set()), torch.Generator().manual_seed(3)
        for step in range(STEPS):
            chosen = torch.randperm(len(rows), generator=generator)[:16]
            x = torch.stack([rows[index][0] for index in chosen.tolist()])
            yield (x * torch.nan if step in BAD else x), chosen % 3
        witness.swear("generator", generator.get_state())
        return
    rows = Rows({16 * step + 3 for step in BAD})
    loader = DataLoader(rows, batch_size=16, num_workers=2 if scene == "workers" else 0)
    yield from loader
    witness.swear("asked", rows.asked)


def train():
    net, calls = Net(), []
    optimizer = make_optimizer(net)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    average = copy.deepcopy(net)
    net.head.register_forward_hook(lambda *_: calls.append("forward"))
    net.head.weight.register_hook(lambda _: calls.append("gradient"))
    optimizer.register_step_pre_hook(lambda *_: calls.append("step"))
    scaler = torch.amp.GradScaler("cpu", enabled=scene == "scaler", init_scale=8.0)
    skipping = Skipping(optimizer, net)
    every = 2 if scene == "accumulated" else 1
    losses = []
    for number, (x, y) in enumerate(batches()):

        def closure():
            loss = nn.functional.cross_entropy(net(x), y) / every
            if scene in ("lbfgs", "closure"):
                optimizer.zero_grad()
            scaler.scale(loss).backward()
            losses.append(loss.detach())
            return loss

        given = [closure] if scene in ("lbfgs", "closure") else []
        if not given:
            closure()
        if (number + 1) % every == 0:
            if by_hand:
                skipping.step(losses, given)
            elif scene == "scaler":
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step(*given)
            schedule.step()
            optimizer.zero_grad()
            print(number, [f"{loss.item():.6f}" for loss in losses], f"{schedule.get_last_lr()[0]:.6f}")
            losses.clear()
        with torch.no_grad():
            for mine, other in zip(average.parameters(), net.parameters()):
                mine.lerp_(other, 0.1)
        witness.swear(f"{number} buffers", [b.clone() for b in net.buffers()])
        if number % 10 == 9:
            witness.swear(f"{number}", net)
    for name, thing in {"net": net, "average": average, "optimizer": optimizer, "schedule": schedule, "calls": calls}.items():
        witness.swear(name, thing)
    witness.swear("scaler", scaler.state_dict())
    return net


def evaluate(net):
    net.eval()
    with torch.no_grad():
        for step in range(6):
            x = torch.randn(16, 6)
            loss = nn.functional.cross_entropy(net(x * torch.nan if step == 2 else x), torch.arange(16) % 3)
            print("evaluated", loss.item())
    witness.swear("evaluated", net)


def adversaries():
    """Two optimizers; the loss of one of them is bad."""
    one, two = Net(), Net()
    optimizers = [torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9) for net in (one, two)]
    for step in range(STEPS):
        for net, optimizer in zip((one, two), optimizers):
            x = torch.randn(16, 6)
            loss = net(x * torch.nan if step in BAD and net is two else x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(step, loss.item())
    witness.swear("one", one)
    witness.swear("two", two)
    witness.swear("optimizers", [optimizer.state_dict() for optimizer in optimizers])


def manual():
    net = Net()
    for step in range(STEPS):
        x = torch.randn(16, 6)
        loss = net(x * torch.nan if step in BAD else x).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= 1e-3 * p.grad
                p.grad = None
        print(step, loss.item())
    witness.swear("net", net)


BAD = {failing, failing + 7}
if scene == "adversaries":
    adversaries()
elif scene == "manual":
    manual()
elif scene == "evaluation":
    BAD = set()
    evaluate(train())
else:
    net = train()
    if scene == "raises":
        witness.testify()
        assert finite(net.parameters()), "the weights are gone"
witness.testify()
