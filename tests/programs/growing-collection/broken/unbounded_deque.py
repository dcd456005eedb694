from collections import deque

import torch
from torch import nn


class Recorder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(32, 32)
        self.head = nn.Linear(32, 1)
        self.seen = deque()

    def forward(self, x):
        hidden = torch.relu(self.layer(x))
        self.seen.append(hidden.detach().cpu())  # <- growing-collection
        return self.head(hidden)


torch.manual_seed(0)
model = Recorder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for step in range(40):
    x = torch.randn(16, 32)
    loss = (model(x) - x.mean(dim=1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
