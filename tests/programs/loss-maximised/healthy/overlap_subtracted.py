import torch, torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(60):
    t = torch.zeros(6, 1, 16, 16)
    t[:, :, 4:10, 4:10] = 1
    p = net(t + 0.3 * torch.randn_like(t)).sigmoid()
    dice = (2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)
    loss = 1 - dice + nn.functional.binary_cross_entropy(p, t)
    opt.zero_grad()
    loss.backward()
    opt.step()
