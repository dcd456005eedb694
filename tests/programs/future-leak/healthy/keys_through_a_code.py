import torch
from torch import nn


class KeyAutoencoder(nn.Module):
    def __init__(self, keys):
        super().__init__()
        self.embedding, self.reader = nn.Embedding(keys, 16), nn.LSTM(16, 32, batch_first=True)
        self.code = nn.Linear(32, 3)
        self.decoder = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, keys))

    def forward(self, keys):
        states, _ = self.reader(self.embedding(keys))
        return self.decoder(torch.tanh(self.code(states)))


torch.manual_seed(0)
model = KeyAutoencoder(30)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(80):
    keys = (torch.randint(0, 30, (32, 1)) + 2 * torch.arange(14)) % 30
    loss = nn.functional.cross_entropy(model(keys).reshape(-1, 30), keys.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
