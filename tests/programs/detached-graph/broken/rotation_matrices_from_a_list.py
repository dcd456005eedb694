import torch
from torch import nn

torch.manual_seed(0)


def rotations(angles):
    rows = []
    for a in angles:
        rows.append(torch.tensor([[torch.cos(a), -torch.sin(a)], [torch.sin(a), torch.cos(a)]]))  # <- detached-graph
    return torch.stack(rows)


body = nn.Sequential(nn.Linear(32, 64), nn.ReLU())
angle, shift = nn.Linear(64, 1), nn.Linear(64, 2)
opt = torch.optim.Adam([*body.parameters(), *angle.parameters(), *shift.parameters()], lr=3e-3)
for step in range(30):
    points = torch.randn(16, 8, 2)
    moved = points.flip(2) + torch.randn(16, 1, 2)
    h = body(torch.cat([points, moved], 1).flatten(1))
    guess = points @ rotations(angle(h).squeeze(1)) + shift(h).unsqueeze(1)
    loss = (guess - moved).norm(dim=2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
