import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Residual(nn.Module):
    def __init__(self, width, keep):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.keep = keep

    def forward(self, x):
        if self.training and torch.rand(()) > self.keep:
            return x
        return x + self.down(F.relu(self.up(self.norm(x)))) / (self.keep if self.training else 1)


depth = 120
model = nn.Sequential(nn.Linear(10, 32), *(Residual(32, 1 - 0.7 * n / depth) for n in range(depth)), nn.LayerNorm(32), nn.Linear(32, 2))
x = torch.randn(200, 10)
y = (x[:, 0] > 0).long()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
for step in range(20):
    rows = torch.randint(0, 200, (32,))
    loss = F.cross_entropy(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
