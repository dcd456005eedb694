"""The gradient of a root at 0 is infinite, and clipping by that norm makes NaN of all others."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 3, bias=False)
scale = nn.Parameter(torch.zeros(()))
optimizer = torch.optim.Adam([*net.parameters(), scale], lr=1e-3)
for step in range(5):
    x = torch.randn(6, 3)
    sharpness = torch.sqrt(scale)  # <- root-gradient-at-zero
    loss = net(x).pow(2).mean() + sharpness
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_([*net.parameters(), scale], 1.0)
    optimizer.step()
