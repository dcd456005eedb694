import math
import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, width, length=200):
        super().__init__()
        position = torch.arange(length).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(length, width)
        table[:, 0::2], table[:, 1::2] = torch.sin(position * rate), torch.cos(position * rate)
        self.register_buffer("table", table.unsqueeze(1))

    def forward(self, x):
        return x + self.table[:x.size(0)]  # <- samples-mixed


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 32)
        self.position = PositionalEncoding(32)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True), 1)
        self.out = nn.Linear(32, 2)

    def forward(self, tokens):
        return self.out(self.encoder(self.position(self.embed(tokens)))[:, 0])


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(150):
    tokens = torch.randint(0, 20, (32, 9))
    label = (tokens[:, 1] > tokens[:, 5]).long()
    loss = nn.functional.cross_entropy(model(tokens), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, loss.item())
