import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 8)
labels = (x @ torch.randn(8, 5) > 0).float()
labels[torch.rand(200, 5) < 0.3] = -1  # unknown
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    rows = torch.randint(0, 200, (32,))
    wanted = labels[rows]
    known = (wanted >= 0).float()
    each = F.binary_cross_entropy_with_logits(model(x[rows]), wanted, reduction="none")
    loss = (each * known).sum() / known.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
