import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 8, batch_first=True)
        self.out = nn.Linear(8, 1)
        self.state = None

    def forward(self, x):
        states, last = self.rnn(x, self.state)
        self.state = last.detach()
        return self.out(states).squeeze(-1)


torch.manual_seed(0)
series = torch.randn(64, 6, 3)
model = Stateful()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    model.state = None
    for x, y in DataLoader(TensorDataset(series, series[..., 0]), batch_size=16):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
