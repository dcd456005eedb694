import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 32, num_layers=2, batch_first=True)
        self.head = nn.Linear(32, 1)

    def forward(self, window):
        _, (hidden, _) = self.lstm(window)
        return self.head(hidden[0])  # <- unused-parameters


torch.manual_seed(0)
t = torch.arange(0, 120, 0.1)
series = torch.sin(t) + 0.3 * torch.sin(3.1 * t)
windows = series.unfold(0, 21, 1)
x, y = windows[:, :20, None], windows[:, 20:]
model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    for rows in torch.randperm(len(x)).split(64):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
