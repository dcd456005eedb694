"""A linear recurrence with a matrix that triples its state: after 90 steps of time, float32 ends."""
import torch
from torch import nn


class Recurrent(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.enter = nn.Parameter(torch.randn(1, size) * 0.1)
        self.repeat = nn.Parameter(3.0 * torch.eye(size))
        self.leave = nn.Linear(size, 1)

    def forward(self, series):
        h = torch.zeros(series.shape[0], self.repeat.shape[0])
        for t in range(series.shape[1]):
            h = torch.relu(series[:, t : t + 1] @ self.enter + h @ self.repeat)  # <- float-overflow
        return self.leave(h)


def sine_waves(n, length):
    phase = torch.rand(n, 1) * 6.28
    return torch.sin(phase + torch.arange(length) * 0.1)


torch.manual_seed(0)
model = Recurrent(8)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for step in range(5):
    data = sine_waves(16, 101)
    loss = (model(data[:, :-1]) - data[:, -1:]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
