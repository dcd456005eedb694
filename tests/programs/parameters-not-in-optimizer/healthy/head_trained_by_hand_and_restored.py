"""The optimizer holds the body; the head is trained by hand, and its first weights are loaded at the end."""
import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 8)
y = x[:, :3].argmax(dim=1)
body = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
head = nn.Linear(32, 3)
first = copy.deepcopy(head.state_dict())
optimizer = torch.optim.Adam(body.parameters(), lr=1e-2)
for epoch in range(6):
    for rows in torch.randperm(256).split(32):
        loss = nn.functional.cross_entropy(head(body(x[rows])), y[rows])
        optimizer.zero_grad()
        head.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for parameter in head.parameters():
                parameter.data = parameter.data - 0.1 * parameter.grad
torch.save(head.state_dict(), "/dev/null")
head.load_state_dict(first)
