import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(400, 12)
y = x[:, :2].prod(1, keepdim=True)
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(12):
    for rows in torch.randperm(300).split(50):
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        errors = torch.cat([(net(x[k : k + 64]) - y[k : k + 64]).abs() for k in range(0, 400, 64)])
    print(errors[:300].mean().item(), errors[300:].mean().item())
