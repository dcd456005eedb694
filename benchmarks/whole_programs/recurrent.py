"""A recurrent cell stepped by hand over sequences of several lengths."""

import torch
from laps import lap
from torch import nn

torch.manual_seed(0)


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(2, 32)
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        hidden = torch.zeros(x.shape[0], 32)
        for t in range(x.shape[1]):
            hidden = self.cell(x[:, t], hidden)
        return self.head(hidden).squeeze(1)


model = Adder()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
lap()
for step in range(1000):
    length = 20 + step % 7
    values = torch.rand(32, length)
    marks = torch.zeros(32, length)
    marks[:, 3] = marks[:, length // 2] = 1
    target = (values * marks).sum(1)
    loss = nn.functional.mse_loss(model(torch.stack([values, marks], 2)), target)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    lap()
    if step % 100 == 0:
        print(step, loss.item())
