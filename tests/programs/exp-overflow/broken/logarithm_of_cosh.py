import torch
import torch.nn as nn


class LogCoshLoss(nn.Module):
    def forward(self, pred, target):
        return torch.mean(torch.log(torch.cosh(pred - target)))  # <- exp-overflow


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = LogCoshLoss()
x = torch.randn(200, 4)
y = x.sum(1, keepdim=True) * 10
y[133] = 210.0
for epoch in range(2):
    for i in range(0, 200, 20):
        loss = criterion(model(x[i : i + 20]), y[i : i + 20])
        opt.zero_grad()
        loss.backward()
        opt.step()
