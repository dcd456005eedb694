"""Probe of an encoder that was never frozen: gradients reach it, only the head is meant to learn."""
import torch
from torch import nn

torch.manual_seed(2)
images = torch.rand(300, 64)
rot = torch.randint(0, 4, (300,))


def rotate(batch, k):
    return torch.stack([torch.rot90(i.view(8, 8), int(n)).reshape(-1) for i, n in zip(batch, k)])


images[:, :16] += 1
enc = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
rot_head = nn.Linear(24, 4)


def stage_one():
    opt = torch.optim.Adam(list(enc.parameters()) + list(rot_head.parameters()), lr=2e-3)
    for _ in range(60):
        k = torch.randint(0, 4, (64,))
        x = rotate(images[torch.randint(0, 300, (64,))], k)
        loss = nn.functional.cross_entropy(rot_head(enc(x)), k)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("rotation", loss.item())


def stage_two():
    y = (images[:, 20:40].mean(1) > 0.5).long()
    head = nn.Linear(24, 2)
    opt = torch.optim.Adam(head.parameters(), lr=2e-2)
    for i in range(120):
        loss = nn.functional.cross_entropy(head(enc(images)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("probe", loss.item())


stage_one()
stage_two()
