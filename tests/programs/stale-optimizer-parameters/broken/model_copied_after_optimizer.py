import copy
import torch
from torch import nn
torch.manual_seed(0)
base = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(base.parameters(), lr=1e-2)  # <- stale-optimizer-parameters
model = copy.deepcopy(base)
for step in range(40):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    model.zero_grad()
    loss.backward()
    optimizer.step()
