"""A focal loss with gamma = 0.5: (1 - p)^0.5 has an infinite slope where p is exactly 1."""
import torch
from torch import nn
import torch.nn.functional as F


class FocalLoss(nn.Module):
    def __init__(self, gamma=0.5):
        super().__init__()
        self.gamma = gamma

    def forward(self, logits, target):
        log_pt = F.log_softmax(logits, dim=1).gather(1, target[:, None]).squeeze(1)
        pt = log_pt.exp()
        weight = (1 - pt) ** self.gamma  # <- root-gradient-at-zero
        return -(weight * log_pt).mean()


def make_batch(step):
    target = torch.randint(0, 3, (16,))
    x = torch.randn(16, 5) + F.one_hot(target, 5) * 2.0
    if step > 30:
        x[9] = 40.0 * F.one_hot(target[9], 5)
    return x, target


torch.manual_seed(0)
net = nn.Linear(5, 3)
criterion = FocalLoss()
optimizer = torch.optim.AdamW(net.parameters(), lr=0.02)
for step in range(60):
    x, target = make_batch(step)
    optimizer.zero_grad()
    loss = criterion(net(x), target)
    loss.backward()
    optimizer.step()
