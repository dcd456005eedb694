"""Scores of (keys, queries), whose weights are transposed before use; slots that compete for inputs, renormalised."""
import torch
from torch import nn

torch.manual_seed(0)


class KeyMajor(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        scores = self.k(x) @ self.q(x).transpose(1, 2) / x.size(-1) ** 0.5
        weights = scores.softmax(dim=1)
        return x + weights.transpose(1, 2) @ self.v(x)


class Slots(nn.Module):
    def __init__(self, width, slots):
        super().__init__()
        self.slots = nn.Parameter(torch.randn(slots, width))
        self.k, self.v = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        scores = self.slots.expand(len(x), -1, -1) @ self.k(x).transpose(1, 2)
        weights = scores.softmax(dim=1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return weights @ self.v(x)


class Model(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Linear(4, width)
        self.attend = KeyMajor(width)
        self.slots = Slots(width, 9)
        self.out = nn.Linear(9 * width, 4)

    def forward(self, x):
        return self.out(self.slots(self.attend(self.embed(x))).flatten(1))


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    x = torch.randn(24, 9, 4)
    loss = nn.functional.mse_loss(model(x), 2 * x.mean(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
print(loss.item())
