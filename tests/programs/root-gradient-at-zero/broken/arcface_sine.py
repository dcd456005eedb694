"""The margin of ArcFace needs sqrt(1 - cos^2), and a sample lies exactly on its class centre."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class ArcFace(nn.Module):
    def __init__(self, width, classes, margin=0.3, scale=16.0):
        super().__init__()
        self.centre = nn.Parameter(torch.randn(classes, width))
        self.margin, self.scale = margin, scale

    def forward(self, z, label):
        cosine = (F.normalize(z) @ F.normalize(self.centre).T).clamp(-1, 1)
        sine = torch.sqrt(1 - cosine**2)  # <- root-gradient-at-zero
        shifted = cosine * math.cos(self.margin) - sine * math.sin(self.margin)
        one_hot = F.one_hot(label, len(self.centre)).float()
        return F.cross_entropy(self.scale * (one_hot * shifted + (1 - one_hot) * cosine), label)


torch.manual_seed(0)
encoder, loss_fn = nn.Linear(2, 2, bias=False), ArcFace(2, 3)
optimizer = torch.optim.SGD([*encoder.parameters(), *loss_fn.parameters()], lr=0.01)
for step in range(12):
    x = torch.randn(6, 2)
    if step == 8:
        with torch.no_grad():
            encoder.weight.copy_(torch.eye(2))
            loss_fn.centre[1] = torch.tensor([2.0, 0.0])
        x[4] = torch.tensor([3.0, 0.0])
    label = torch.tensor([0, 1, 2, 0, 1, 2])
    loss = loss_fn(encoder(x), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
