import math
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(16, 32)
        position = torch.arange(100).unsqueeze(1)
        rate = torch.exp(torch.arange(0, 32, 2) * (-math.log(10000.0) / 32))
        pe = torch.zeros(100, 1, 32)
        pe[:, 0, 0::2], pe[:, 0, 1::2] = torch.sin(position * rate), torch.cos(position * rate)
        self.register_buffer("pe", pe)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, 0.1), 1)
        self.out = nn.Linear(32, 16)

    def forward(self, tokens):
        x = self.embed(tokens)
        return self.out(self.encoder(x + self.pe[:x.size(0)]))


torch.manual_seed(0)
model = Model()
opt = torch.optim.Adam(model.parameters(), 2e-3)
for step in range(120):
    tokens = torch.randint(0, 16, (10, 24))
    logits = model(tokens)
    loss = nn.functional.cross_entropy(logits.view(-1, 16), tokens.flip(0).reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, loss.item())
