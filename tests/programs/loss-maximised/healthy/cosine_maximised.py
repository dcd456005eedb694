import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
A = torch.randn(10, 6)
f = nn.Linear(10, 6)
opt = torch.optim.Adam(f.parameters(), 0.01, maximize=True)
for s in range(80):
    x = torch.randn(64, 10)
    loss = F.cosine_similarity(f(x), x @ A).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
