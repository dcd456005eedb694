import torch
from torch import nn

torch.manual_seed(0)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.tensor(float("nan")))  # <- nonfinite-literal

    def forward(self, x):
        return self.l(x) * self.scale


m = M()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for step in range(3):
    loss = m(torch.randn(5, 4)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
