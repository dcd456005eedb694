import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        g = torch.sigmoid(self.a(x))
        y = g * self.b(x)
        return y + self.act(g)  # <- inplace-modification


m = nn.Sequential(Block(), Block(), nn.Linear(4, 1))
o = torch.optim.Adam(m.parameters())
for i in range(3):
    loss = m(torch.randn(5, 4)).pow(2).mean()
    o.zero_grad()
    loss.backward()
    o.step()
