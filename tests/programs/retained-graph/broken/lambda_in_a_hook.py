import torch
from torch import nn

torch.manual_seed(0)
acts = []
m = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
m[1].register_forward_hook(lambda mod, i, o: acts.append(o))  # <- retained-graph
opt = torch.optim.Adam(m.parameters())
for s in range(400):
    x = torch.randn(32, 16); l = (m(x) - x[:, :1]).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step()
