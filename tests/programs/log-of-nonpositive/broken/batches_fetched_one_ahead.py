import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.rand(512, 8) + 0.1
x[201, 3] = -1.0
class Ahead:
    def __init__(self, loader): self.loader = loader
    def __iter__(self):
        it = iter(self.loader)
        current = next(it)
        while True:
            try:
                current = [t.to("cpu", non_blocking=True) for t in current]
                following = next(it)
                yield current
                current = following
            except StopIteration:
                yield current
                return
loader = Ahead(DataLoader(TensorDataset(x, torch.randn(512, 1)), batch_size=32, shuffle=True))
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(3):
    for xb, yb in loader:
        loss = nn.functional.mse_loss(net(xb.log()), yb)  # <- log-of-nonpositive
        opt.zero_grad()
        loss.backward()
        opt.step()
