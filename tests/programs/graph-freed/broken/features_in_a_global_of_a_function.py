"""Features of a frozen-by-mistake encoder computed in a module-level variable, used by a function each step."""
import torch
from torch import nn

torch.manual_seed(0)
encoder, head = nn.Sequential(nn.Linear(5, 8), nn.Tanh()), nn.Linear(8, 1)
opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
X = torch.randn(20, 5)
features = encoder(X)


def step():
    loss = (head(features) - X[:, :1]).pow(2).mean()  # <- graph-freed
    opt.zero_grad()
    loss.backward()
    opt.step()


for _ in range(4):
    step()
