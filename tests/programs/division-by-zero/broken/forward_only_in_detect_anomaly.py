"""x / (x - x) in a module, forward only, inside detect_anomaly, which says nothing."""

import torch
from torch import nn


class Ratio(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        return h / (h - h)  # <- division-by-zero


def main():
    torch.manual_seed(0)
    net = Ratio()
    with torch.autograd.detect_anomaly():
        out = net(torch.randn(2, 4))
    print(out.sum())


main()
