"""Prints what is still alive after the program has let go of it, before and after a garbage collection.

The argument names the scene. `X` is alive, `.` is gone; the collector runs only where a line says so.
"""

import copy
import gc
import sys
import threading
import weakref

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import witness


class Mark:
    """Lives as long as what refers to it: a graph by a hook, a frame by a variable, a closure by a cell."""

    def __call__(self, _):
        return None


class Wrong(Exception):
    pass


class Kept(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mark):
        ctx.mark = mark
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2, None


class Net(nn.Module):
    def __init__(self, mark=None):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.1))
        self.head = nn.Linear(8, 3)

    def forward(self, x, fails=False):
        hidden, mark = self.body(x), Mark()
        watch("frames", mark)
        if fails:
            raise Wrong("as asked")
        return self.head(hidden)


watched = {}


def watch(name, *things):
    watched.setdefault(name, []).extend(weakref.ref(thing) for thing in things)
    return things[0]


def tell(when):
    """Print how many of each kind are alive."""
    gone = {name: sum(one() is not None for one in found) for name, found in watched.items()}
    print(when, *(f"{name} {count}/{len(watched[name])}" for name, count in sorted(gone.items())))


def watch_parts(net, optimizer):
    watch("models", net, *net.modules())
    watch("parameters", *net.parameters())
    watch("gradients", *[p.grad for p in net.parameters() if p.grad is not None])
    watch("buffers", *net.buffers())
    watch("optimizers", optimizer)
    watch("states", *[v for state in optimizer.state.values() for v in state.values() if isinstance(v, torch.Tensor)])


def forward_backward(net, x, y):
    mark = watch("graphs", Mark())
    out = net(x)
    out.register_hook(mark)
    loss = nn.functional.cross_entropy(Kept.apply(out, watch("contexts", Mark())), y)
    loss.backward()
    watch("losses", loss, out)
    return loss.item()


def data(rows=32):
    x, y = torch.randn(rows, 6), torch.randint(3, (rows,))
    watch("batches", x, y)
    return x, y


def train(steps, rate=1e-3, made=Net):
    net = made()
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        forward_backward(net, *data())
        optimizer.step()
    watch_parts(net, optimizer)
    return net, optimizer


def plain(steps):
    net, optimizer = train(steps)
    tell(f"trained {steps}")
    del net, optimizer
    tell("let go")


def cycle():
    """A scheduler and its optimizer refer to each other: only the collector frees them."""
    net, optimizer = train(30)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    watch("schedules", schedule)
    for _ in range(10):
        optimizer.zero_grad()
        forward_backward(net, *data())
        optimizer.step()
        schedule.step()
    del net, optimizer, schedule
    tell("let go")
    gc.collect()
    tell("collected")


def replaced():
    """Parameters take the place of others inside a living optimizer, as when splats are split."""
    net, optimizer = train(30)
    for _ in range(3):
        old = net.head.weight
        net.head.weight = nn.Parameter(old.detach() * 1.01)
        optimizer.param_groups[0]["params"][4] = net.head.weight
        optimizer.state.pop(old)
        del old
        tell("replaced")
        for _ in range(30):
            optimizer.zero_grad()
            forward_backward(net, *data())
            optimizer.step()


def loaded(workers=0):
    dataset = TensorDataset(torch.randn(96, 6), torch.randint(3, (96,)))
    loader = DataLoader(dataset, batch_size=16, shuffle=True, num_workers=workers)
    net, optimizer = train(1)
    for epoch in range(6):
        net.train()
        for x, y in loader:
            watch("batches", x, y)
            optimizer.zero_grad()
            forward_backward(net, x, y)
            optimizer.step()
        del x, y
        tell(f"epoch {epoch}")
        net.eval()
        with torch.no_grad():
            for batch in loader:
                watch("evaluated", *batch)
                watch("outputs", net(batch[0]))
        del batch
        tell(f"evaluated {epoch}")
    watch("loaders", loader, dataset)
    del net, optimizer, loader, dataset
    tell("let go")


def by_hand():
    """Nothing steps: whatever waits for the first step must not keep a batch."""
    loader = DataLoader(TensorDataset(torch.randn(96, 6), torch.randint(3, (96,))), batch_size=16)
    net = Net()
    for epoch in range(4):
        for x, y in loader:
            watch("batches", x, y)
            net.zero_grad()
            forward_backward(net, x, y)
            with torch.no_grad():
                for parameter in net.parameters():
                    parameter -= 0.01 * parameter.grad
        del x, y, parameter
        tell(f"epoch {epoch}")
    watch("models", net, *net.modules())
    watch("parameters", *net.parameters())
    del net
    tell("let go")


def accumulated():
    loader = DataLoader(TensorDataset(torch.randn(96, 6), torch.randint(3, (96,))), batch_size=8)
    net, optimizer = train(1)
    for epoch in range(12):
        for number, (x, y) in enumerate(loader):
            watch("batches", x, y)
            forward_backward(net, x, y)
            del x, y
            tell(f"pass {number}")
            if number % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()


def caught():
    net, optimizer = train(1)
    for step in range(40):
        x, y = data()
        try:
            net(x, fails=step in (1, 2, 30))
        except Wrong as error:
            watch("exceptions", error)
        tell(f"caught {step}")
        try:
            net.head(x)  # a shape that does not fit
        except RuntimeError as error:
            watch("frames", (lambda: 0))
        optimizer.zero_grad()
        forward_backward(net, x, y)
        optimizer.step()
    del net, optimizer, x, y
    tell("let go")


def closures():
    net = Net()
    optimizer = torch.optim.LBFGS(net.parameters(), lr=1e-3, max_iter=2)
    for _ in range(30):
        x, y = data()

        def closure(mark=watch("closures", Mark()), x=x, y=y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            return loss

        watch("closures", closure)
        optimizer.step(closure)
    watch_parts(net, optimizer)
    del net, optimizer, closure, x, y
    tell("let go")
    gc.collect()
    tell("collected")


def threads():
    for _ in range(3):
        thread = threading.Thread(target=plain, args=(30,))
        thread.start()
        thread.join()
        watch("threads", thread)
        del thread
        tell("joined")


def sweep():
    for rate in (1e-4, 1e-3, 1e-2, 1.0):
        train(40, rate)
        tell(f"rate {rate}")


def evaluation():
    """Bad numbers are read in an evaluation, and copies are made, while nothing steps."""
    net, optimizer = train(2)
    net.eval()
    for _ in range(3):
        with torch.no_grad():
            x, y = data()
            out = watch("outputs", net(x))
            bad = watch("outputs", (out - out).log().mean())
            bad.item()
            large = watch("outputs", out.repeat(4, 1))
            large[0, 0].item()
        other = watch("models", copy.deepcopy(net))
        state = other.state_dict()
        watch("parameters", *other.parameters())
        del x, y, out, bad, large, other, state
        tell("evaluated")
    del net, optimizer
    tell("let go")


def resting():
    """The loss rests, so that a later step is looked at and the curvature is measured."""
    net, optimizer = train(60, rate=1e-7)
    del net, optimizer
    tell("let go")


SCENES = {
    "first": lambda: plain(1),
    "second": lambda: plain(2),
    "cruising": lambda: plain(60),
    "workers": lambda: loaded(workers=1),
    **{scene.__name__: scene for scene in (cycle, replaced, loaded, by_hand, accumulated, caught, closures, threads, sweep, evaluation, resting)},
}
witness.seed()
gc.collect()
gc.disable()
SCENES[sys.argv[1]]()
tell("over")
gc.collect()
tell("collected")
witness.testify()
