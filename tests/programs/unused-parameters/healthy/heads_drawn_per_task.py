import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Tasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.heads = nn.ModuleDict({f"task{n}": nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1)) for n in range(40)})

    def forward(self, x, task):
        return self.heads[task](self.body(x)).squeeze(1)


weights = torch.randn(40, 20)
model = Tasks()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(120):
    task = int(torch.randint(0, 40, ()))
    x = torch.randn(32, 20)
    loss = F.mse_loss(model(x, f"task{task}"), x @ weights[task] / 20**0.5)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(step, loss.item())
