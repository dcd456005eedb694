import contextlib

import torch
import witness
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.flop_counter import FlopCounterMode


class Operations(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


class Saved(contextlib.ExitStack):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __enter__(self):
        self.enter_context(torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack))
        return self

    def pack(self, tensor):
        self.seen.append(("pack", tuple(tensor.shape)))
        return tensor

    def unpack(self, tensor):
        self.seen.append(("unpack", tuple(tensor.shape)))
        return tensor


class Profiled(contextlib.ExitStack):
    def __enter__(self):
        self.profile = self.enter_context(profile(activities=[ProfilerActivity.CPU]))
        return self

    @property
    def seen(self):
        return sorted((e.key, e.count) for e in self.profile.key_averages() if "::" in e.key)


class Flops(contextlib.ExitStack):
    def __enter__(self):
        self.counter = self.enter_context(FlopCounterMode(display=False))
        return self

    @property
    def seen(self):
        return [(str(k), str(v)) for k, v in self.counter.get_flop_counts()["Global"].items()]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.last = nn.Linear(8, 2)

    def forward(self, x):
        return self.last(nn.functional.dropout(self.norm(self.first(x)).relu(), 0.1, self.training))


def evaluate(net, x, y):
    net.eval()
    with torch.no_grad():
        loss = nn.functional.cross_entropy(net(x), y).item()
    net.train()
    return loss


def train(optimizer_class, steps, inside=contextlib.nullcontext):
    net = Net()
    optimizer = optimizer_class(net.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    x, y = torch.randn(24, 4), torch.randint(2, (24,))
    loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
    for epoch in range(-(-steps // 3)):
        for batch, labels in loader:
            with inside():
                loss = nn.functional.cross_entropy(net(batch), labels)
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
            torch.isnan(loss)
            loss.item()
        scheduler.step()
        if epoch % 3 == 2:
            witness.swear("evaluation", evaluate(net, x, y))
    witness.swear("net", net)
    return net


def counted(name, mode, *arguments, **options):
    with mode as counter:
        train(*arguments, **options)
    print(name, len(counter.seen))
    witness.swear(name, counter.seen)


witness.seed()
Adam, SGD = torch.optim.Adam, torch.optim.SGD
counted("operations around all", Operations(), Adam, 45)
counted("functions around all", Functions(), Adam, 45)
counted("operations around a later program", Operations(), SGD, 30)
counted("flops", Flops(), SGD, 6)
counted("saved tensors", Saved(), Adam, 30)
import os
devnull = os.open(os.devnull, os.O_WRONLY)
kept = os.dup(2)
os.dup2(devnull, 2)  # kineto tells the time there
counted("profile", Profiled(), Adam, 30)
os.dup2(kept, 2)
counted("functions of another", Functions(), SGD, 30)
with Operations() as outer, Functions() as functions, Operations() as inner:
    train(Adam, 30)
    witness.swear("nested", [outer.seen, functions.seen, inner.seen])
inside = []


def in_each_step():
    inside.append(Operations() if len(inside) % 2 else Functions())
    return inside[-1]


train(Adam, 45, inside=in_each_step)
witness.swear("in each step", [mode.seen for mode in inside])
witness.testify()
