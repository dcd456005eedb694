import torch
from torch import nn
torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(enc.parameters(), lr=5e-3)
crit = nn.TripletMarginLoss(margin=0.2)
centers = torch.randn(5, 10) * 3
for step in range(200):
    c = torch.randint(0, 5, (32,)); n = (c + torch.randint(1, 5, (32,))) % 5
    f = lambda k: enc(centers[k] + 0.1 * torch.randn(32, 10))
    loss = crit(f(c), f(c), f(n))
    opt.zero_grad(); loss.backward(); opt.step()
