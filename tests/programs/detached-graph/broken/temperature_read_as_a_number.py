"""A gating module reads its temperature with .item(): the temperature never learns."""
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.temperature = nn.Parameter(torch.rand(1) + 0.5)
        self.proj = nn.Linear(dim, 4)

    def forward(self, x):
        return torch.softmax(self.proj(x) / self.temperature.item(), dim=-1)  # <- detached-graph


class MoE(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.gate = Gate(dim)
        self.experts = nn.ModuleList([nn.Linear(dim, 2) for _ in range(4)])

    def forward(self, x):
        w = self.gate(x).unsqueeze(-1)
        return (w * torch.stack([e(x) for e in self.experts], 1)).sum(1)


def main():
    torch.manual_seed(0)
    net = MoE()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(80):
        x = torch.randn(32, 6)
        loss = nn.functional.mse_loss(net(x), x[:, :2].abs())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item(), net.gate.temperature.item())


main()
