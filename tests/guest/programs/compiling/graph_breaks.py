import gc
import warnings

import torch
from compiler_witness import counting, testify, witness
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 1)

    def forward(self, x):
        x = self.first(x)
        torch._dynamo.graph_break()
        if x.sum().item() > 0:
            x = x * 2
        return self.second(x.relu())


@torch.compile(backend=counting)
def epoch(loader):
    total = 0.0
    for x, y in loader:
        loss = (net(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    gc.collect()
    warnings.warn("the epoch is over")
    net.state_dict()
    return total


@torch.compile(backend=counting)
def made_inside(weight):
    optimizer = torch.optim.SGD([weight], lr=0.1)
    weight.grad = weight.detach() * 2
    optimizer.step()
    return weight * 3


witness.seed()
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
loader = DataLoader(TensorDataset(torch.randn(16, 4), torch.randn(16, 1)), batch_size=8)
for _ in range(3):
    witness.swear("epoch", epoch(loader))
net.eval()
witness.swear("made inside", made_inside(nn.Parameter(torch.ones(3))))
witness.swear("net", net)
testify(net, epoch._torchdynamo_orig_callable)
