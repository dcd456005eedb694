import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(96, 6)
y = torch.relu(x[:, 0] + 0.1 * x[:, 1])
y[64:80] = 0.0


def pearson_loss(pred, target):
    return 1 - torch.corrcoef(torch.stack([pred, target]))[0, 1]  # <- division-by-zero


for epoch in range(3):
    for i in range(0, 96, 16):
        pred = model(x[i : i + 16]).squeeze(1)
        loss = pearson_loss(pred, y[i : i + 16])
        opt.zero_grad()
        loss.backward()
        opt.step()
