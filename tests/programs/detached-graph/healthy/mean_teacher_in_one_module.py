import copy

import torch
import torch.nn.functional as F
from torch import nn


class MeanTeacher(nn.Module):
    """The teacher is part of the model, and so of the optimizer, but only its moving average writes it."""

    def __init__(self):
        super().__init__()
        self.student = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
        self.teacher = copy.deepcopy(self.student)

    def forward(self, x):
        with torch.no_grad():
            wanted = self.teacher(x)
        return self.student(x + 0.1 * torch.randn_like(x)), wanted

    @torch.no_grad()
    def follow(self):
        for slow, fast in zip(self.teacher.parameters(), self.student.parameters()):
            slow.lerp_(fast, 0.1)


torch.manual_seed(0)
model = MeanTeacher()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    x = torch.randn(32, 6)
    logits, wanted = model(x)
    loss = F.cross_entropy(logits, x[:, :3].argmax(dim=1)) + F.mse_loss(logits, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.follow()
