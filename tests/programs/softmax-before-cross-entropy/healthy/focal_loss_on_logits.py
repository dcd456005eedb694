import torch
import torch.nn.functional as F
from torch import nn


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0):
        super().__init__()
        self.gamma = gamma

    def forward(self, logits, targets):
        ce = F.cross_entropy(logits, targets, reduction="none", label_smoothing=0.1)
        p = torch.softmax(logits, dim=1).gather(1, targets.unsqueeze(1)).squeeze(1)
        return ((1 - p) ** self.gamma * ce).mean()


def binary_focal(logits, targets):
    bce = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    p = torch.sigmoid(logits)
    pt = p * targets + (1 - p) * (1 - targets)
    return ((1 - pt) ** 2 * bce).mean()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = FocalLoss()
for step in range(50):
    x = torch.randn(64, 8)
    y = x[:, :4].argmax(dim=1)
    out = model(x)
    loss = criterion(out[:, :4], y) + binary_focal(out[:, 4], (x[:, 5] > 0).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
