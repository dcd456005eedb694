import torch
import torch.nn.functional as F
from torch import nn


class InfoNCE(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, a, b):
        similarity = F.normalize(a, dim=1) @ F.normalize(b, dim=1).T
        e = torch.exp(similarity / self.temperature)  # <- exp-overflow
        return -torch.log(e.diag() / e.sum(1)).mean()


def augment(x):
    return x + 0.01 * torch.randn_like(x)


torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-3, weight_decay=1e-2)
criterion = InfoNCE(temperature=0.01)
for epoch in range(2):
    for x in torch.randn(64, 16).split(16):
        loss = criterion(encoder(augment(x)), encoder(augment(x)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
