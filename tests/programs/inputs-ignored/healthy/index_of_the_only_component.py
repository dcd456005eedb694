import torch
from torch import nn

torch.manual_seed(0)
mean, log_std = nn.Embedding(1, 3), nn.Embedding(1, 3)
optimizer = torch.optim.Adam([*mean.parameters(), *log_std.parameters()], lr=2e-2)
for step in range(80):
    x = torch.randn(64, 3) * 0.5 + torch.tensor([1.0, -1.0, 2.0])
    component = torch.rand(64).long()
    loss = nn.functional.gaussian_nll_loss(mean(component), x, (2 * log_std(component)).exp())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
