# heads used at random, one never in the first 100 steps; LayerDrop
import random, torch
from torch import nn

torch.manual_seed(0)
random.seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(6, 32)
        self.blocks = nn.ModuleList(nn.Linear(32, 32) for _ in range(4))
        self.heads = nn.ModuleDict({k: nn.Linear(32, 2) for k in "abc"})

    def forward(self, x, task):
        h = torch.relu(self.inp(x))
        for b in self.blocks:
            if self.training and random.random() < 0.3:
                continue
            h = h + torch.relu(b(h)) * 0.3
        return self.heads[task](h)


net = Net()
opt = torch.optim.Adam(net.parameters(), 3e-3)
for i in range(200):
    task = random.choice("ab") if i < 100 else random.choice("abc")
    x = torch.randn(32, 6)
    y = (x[:, "abc".index(task)] > 0).long()
    loss = nn.functional.cross_entropy(net(x, task), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 40 == 0:
        print(task, loss.item())
