from dataclasses import dataclass
import torch
from torch import nn


@dataclass
class Config:
    rate: float = 5.0
    epochs: int = 80


def main(cfg: Config):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 1))
    optim = torch.optim.SGD(net.parameters(), lr=cfg.rate)  # <- learning-rate-too-high
    x = torch.randn(128, 10)
    y = x[:, :3].sum(1, keepdim=True)
    for _ in range(cfg.epochs):
        optim.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optim.step()
    print(loss.item())


main(Config())
