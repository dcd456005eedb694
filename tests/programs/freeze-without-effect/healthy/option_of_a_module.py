# Positional module with a public flag for its table; projection trains. A separate frozen feature net is set in the usual way.
import torch
from torch import nn
class Position(nn.Module):
    def __init__(self, length, width, requires_grad=False):
        super().__init__()
        self.requires_grad = requires_grad
        self.table = nn.Parameter(torch.randn(length, width), requires_grad=requires_grad)
        self.project = nn.Linear(width, width)
    def forward(self, x):
        return x + self.project(self.table[: x.shape[1]])
torch.manual_seed(0)
frozen = nn.Linear(4, 16)
for p in frozen.parameters():
    p.requires_grad = False
position, head = Position(20, 16), nn.Linear(16, 2)
opt = torch.optim.Adam([p for m in (position, head) for p in m.parameters() if p.requires_grad], lr=5e-3)
for step in range(80):
    x = torch.randn(32, 10, 4)
    loss = nn.functional.cross_entropy(head(torch.relu(position(frozen(x))).mean(1)), (x[:, 0, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
