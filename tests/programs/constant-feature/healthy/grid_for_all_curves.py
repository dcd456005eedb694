# curves on a common grid, summarised by few numbers: the data set returns (grid, parameters) for a decoder
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Curves(Dataset):
    def __init__(self, n):
        self.grid = torch.linspace(0.1, 2, 24)
        self.p = torch.rand(n, 3) + 0.5

    def __len__(self):
        return len(self.p)

    def __getitem__(self, i):
        return self.grid, self.p[i]


def curve(t, p):
    return p[:, :1] * torch.exp(-p[:, 1:2] * t) + p[:, 2:]


net = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 3))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(4):
    for t, p in DataLoader(Curves(800), 40, shuffle=True):
        obs = curve(t, p) + 0.01 * torch.randn_like(t)
        loss = nn.functional.mse_loss(net(obs), p)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
