"""An LSTM forecaster whose head is trained with a rate that is thousands of times too high."""
import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 12, batch_first=True)
        self.head = nn.Linear(12, 1)

    def forward(self, x):
        h, _ = self.lstm(x)
        return self.head(h[:, -1])


def series(n):
    phase = torch.rand(n, 1) * 6
    wave = torch.sin(phase + torch.arange(13) * 0.3)
    return wave[:, :12, None], wave[:, 12:]


torch.manual_seed(0)
model = Forecaster()
optimizer = torch.optim.SGD(model.parameters(), lr=40.0)  # <- learning-rate-too-high
for step in range(60):
    x, y = series(24)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
