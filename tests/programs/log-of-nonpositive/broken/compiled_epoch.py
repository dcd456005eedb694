import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
x = torch.rand(64, 6) + 0.1
x[40] = -x[40]
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)


@torch.compile(backend="eager")
def train(loader):
    for x, y in loader:
        loss = (net(x) - y.log()).square().mean()  # <- log-of-nonpositive
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss


for epoch in range(3):
    print(train(loader))
