import sys
from pathlib import Path

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

sys.path.append(str(Path(__file__).parents[1]))
import witness


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


witness.seed()
for kind in (Operations, Functions):
    with kind() as mode:
        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(net.parameters())
        for step in range(40):
            out = net(torch.randn(8, 4))
            loss = (out.log() if step in (0, 30) else out).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(kind.__name__, len(mode.seen))
    witness.swear("seen", mode.seen)
    witness.swear("net", net)
witness.testify()
