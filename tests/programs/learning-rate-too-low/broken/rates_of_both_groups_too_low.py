"""Rates per group from a dictionary: 0 for the body, far too low for the head."""
import torch
from torch import nn

CFG = {"lr_body": 0.0, "lr_head": 1e-9}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(self.body(x))


def make_optimizer(net, cfg):
    return torch.optim.SGD(  # <- learning-rate-too-low
        [
            {"params": net.body.parameters(), "lr": cfg["lr_body"]},
            {"params": net.head.parameters(), "lr": cfg["lr_head"]},
        ],
        lr=0.1,
    )


def main():
    torch.manual_seed(0)
    net = Net()
    opt = make_optimizer(net, CFG)
    for step in range(120):
        x = torch.randn(32, 8)
        loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 40 == 0:
            print(step, loss.item())


main()
