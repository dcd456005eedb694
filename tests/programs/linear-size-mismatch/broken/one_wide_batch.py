import torch
from torch import nn

torch.manual_seed(0)
batches = [(torch.randn(16, 10), torch.randn(16, 1)) for _ in range(40)]
batches[25] = (torch.randn(16, 12), torch.randn(16, 1))
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for x, y in batches:
        loss = nn.functional.mse_loss(net(x), y)  # <- linear-size-mismatch
        opt.zero_grad()
        loss.backward()
        opt.step()
