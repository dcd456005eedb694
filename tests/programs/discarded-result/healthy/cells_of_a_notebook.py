# %%
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(100, 3)
y = x.sum(dim=1, keepdim=True)
# %%
x.shape
x.mean(dim=0)
y[:3]
# %%
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(20):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
# %%
net.weight.abs()
