import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 10))
teacher = copy.deepcopy(student)
centre = torch.zeros(1, 10)
optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
for step in range(30):
    x = torch.randn(32, 12)
    with torch.no_grad():
        out = teacher(x + 0.1 * torch.randn_like(x))
        wanted = F.softmax((out - centre) / 0.04, dim=-1)
        shares = F.softmax(out / 0.1, dim=0)  # Sinkhorn's other direction, for a statistic
        centre = 0.9 * centre + 0.1 * out.mean(dim=0, keepdim=True)
    logits = F.log_softmax(student(x + 0.1 * torch.randn_like(x)) / 0.1, dim=-1)
    loss = -(wanted * logits).sum(dim=-1).mean() + 0 * shares.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters()):
            slow.mul_(0.99).add_(fast, alpha=0.01)
