"""view(32, -1) in forward; 100 samples in batches of 32."""
import torch
from torch import nn


class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv1d(2, 3, 3)
        self.l = nn.Linear(18, 2)

    def forward(self, x):
        return self.l(self.c(x).view(32, -1))  # <- ragged-last-batch


torch.manual_seed(0)
X = torch.randn(100, 2, 8)
Y = torch.randint(0, 2, (100,))
net = Flat()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
i = 0
while i < 100:
    xb, yb = X[i : i + 32], Y[i : i + 32]
    loss = nn.functional.cross_entropy(net(xb), yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    i += 32
