# Assignment: every column is a slot, filled by a distribution over the rows (agents); each slot has a right agent.
import torch
from torch import nn
torch.manual_seed(0)
score = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 4))
opt = torch.optim.Adam(score.parameters(), lr=5e-3)
for step in range(100):
    agents = torch.randn(10, 6)
    right = agents[:, :4].argmax(0)                       # which agent takes slot j
    p = score(agents).softmax(dim=0)                      # over the agents
    loss = -p[right, torch.arange(4)].clamp_min(1e-9).log().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
