import torch
from torch import nn
torch.manual_seed(0)
target = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
predictor = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
for p in target.parameters(): p.requires_grad_(False)
opt = torch.optim.Adam(predictor.parameters(), lr=1e-3)
for step in range(30):
    s = torch.randn(32, 4)
    loss = (predictor(s) - target(s)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
