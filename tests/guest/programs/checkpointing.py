import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
import witness

witness.seed()
block = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Dropout(0.4), nn.SiLU())
other = nn.Sequential(*(nn.Linear(6, 6) for _ in range(4)))
model = nn.ModuleList([block, other])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(4):
    x = torch.randn(8, 6, requires_grad=True)
    h = checkpoint(block, x, use_reentrant=True)
    h = checkpoint(block, h, use_reentrant=False)
    h = checkpoint_sequential(other, 2, h, use_reentrant=False)
    loss = h.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    witness.swear("loss", loss)
    witness.swear("input gradient", x.grad)
witness.swear("model", model)
witness.testify()
