import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode
import witness


class Operations(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


def step():
    loss = model(torch.randn(5, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


witness.seed()
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for number in range(4):
    with Operations() as operations:
        loss = step()
    witness.swear("operations", operations.names)
    with Functions() as functions:
        loss = step()
    witness.swear("functions", functions.names)
    with FlopCounterMode(display=False) as flops:
        loss = step()
    print(loss, flops.get_total_flops(), len(operations.names), len(functions.names))
print(torch.utils._python_dispatch._get_current_dispatch_mode_stack() if number == 4 else "")
witness.swear("model", model)
witness.testify()
