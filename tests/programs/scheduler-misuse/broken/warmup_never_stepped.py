"""A warm-up from a ten-thousandth of the rate whose scheduler is never stepped."""
import torch
from torch import nn


class Fit:
    def __init__(self):
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.05)
        self.warm = torch.optim.lr_scheduler.LinearLR(self.opt, start_factor=1e-4, total_iters=20)  # <- scheduler-misuse

    def run(self, n=120):
        for i in range(n):
            x = torch.randn(32, 6)
            loss = nn.functional.mse_loss(self.net(x), x.sum(1, keepdim=True))
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            if i % 30 == 0:
                print(i, loss.item(), self.opt.param_groups[0]["lr"])


Fit().run()
