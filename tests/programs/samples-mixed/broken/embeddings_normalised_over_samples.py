import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
left = nn.Sequential(nn.Linear(20, 48), nn.GELU(), nn.Linear(48, 16))
right = nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 16))
scale = nn.Parameter(torch.tensor(2.0))
optimizer = torch.optim.AdamW([*left.parameters(), *right.parameters(), scale], lr=2e-3)
latent = torch.randn(640, 8)
a, b = latent @ torch.randn(8, 20), latent @ torch.randn(8, 12)
for epoch in range(10):
    for rows in torch.randperm(640).split(64):
        u = F.normalize(left(a[rows]), dim=0)  # <- samples-mixed
        v = F.normalize(right(b[rows]), dim=0)
        logits = scale.exp() * u @ v.t()
        labels = torch.arange(len(rows))
        loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
