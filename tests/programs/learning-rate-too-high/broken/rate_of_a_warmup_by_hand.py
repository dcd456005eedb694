"""A warm-up helper sets lr = base * step instead of base * step / warmup: lr explodes."""
import torch
from torch import nn


class Warmup:
    def __init__(self, opt, base, steps):
        self.opt, self.base, self.steps, self.t = opt, base, steps, 0

    def step(self):
        self.t += 1
        lr = self.base * min(self.t, self.steps)
        for group in self.opt.param_groups:
            group["lr"] = lr  # <- learning-rate-too-high


def model():
    return nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))


def main():
    torch.manual_seed(0)
    net = model()
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    warm = Warmup(opt, 0.05, 200)
    for step in range(120):
        x = torch.randn(32, 8)
        y = x.sum(1, keepdim=True)
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        warm.step()
        if step % 10 == 0:
            print(step, loss.item())


main()
