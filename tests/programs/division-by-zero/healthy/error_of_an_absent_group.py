import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.randn(256, 6)
y = x[:, :1] * 2 + 0.1 * torch.randn(256, 1)
group = torch.randint(0, 3, (256,))
vx, vy, vgroup = torch.randn(32, 6), torch.randn(32, 1), torch.randint(0, 2, (32,))
for epoch in range(6):
    net.train()
    for i in range(0, 256, 32):
        loss = (net(x[i:i+32]) - y[i:i+32]).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
    net.eval()
    with torch.no_grad():
        pred = net(vx)
        for g in range(3):
            mask = (vgroup == g).float()[:, None]
            mae = ((pred - vy) * mask).abs().sum() / mask.sum()
            per_group = (pred - vy)[vgroup == g].abs().mean()
            print(epoch, g, mae.item(), per_group.item())
