"""A sampler that asks for a sample which is not there, taken by the program; then training under a mode of its own."""

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from torch.utils.data import DataLoader, TensorDataset
import witness


class Operations(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


witness.seed()
data = TensorDataset(torch.randn(24, 4), torch.randn(24, 1))
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for sampler in ([0, 1, 99, 2], list(range(24))):
    try:
        batches = iter(DataLoader(data, batch_size=4, sampler=sampler))
        with Operations() as operations:
            for x, y in batches:
                loss = nn.functional.mse_loss(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    except IndexError as problem:
        print(type(problem).__name__)
    try:
        next(iter(DataLoader(data, batch_size=4, sampler=[77])))
    except IndexError as problem:
        print(type(problem).__name__)
    witness.swear("operations", operations.names)
print(len([mode for mode in _get_current_dispatch_mode_stack() if type(mode) is Operations]))
witness.swear("model", model)
witness.testify()
