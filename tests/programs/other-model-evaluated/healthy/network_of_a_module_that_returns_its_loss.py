# The trained module returns its loss; its network is evaluated beside a frozen baseline.
import torch
from torch import nn
class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    def forward(self, x, y):
        return nn.functional.mse_loss(self.net(x), y)
torch.manual_seed(0)
x = torch.randn(300, 6)
y = x[:, :2].sum(1, keepdim=True)
model = Forecaster()
baseline = nn.Linear(6, 1)
with torch.no_grad():
    solution = torch.linalg.lstsq(x[:50], y[:50] + 0.5 * torch.randn(50, 1)).solution
    baseline.weight.copy_(solution.t())
    baseline.bias.zero_()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    for rows in torch.arange(240).split(24):
        loss = model(x[rows], y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        val_loss = nn.functional.mse_loss(model.net(x[240:]), y[240:])
        baseline_loss = nn.functional.mse_loss(baseline(x[240:]), y[240:])
        print(epoch, val_loss.item(), baseline_loss.item())
