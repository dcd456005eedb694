# Intermittent demand: binned sales per day (0 = nothing sold) predict the next day's bin.
import torch
from torch import nn
torch.manual_seed(0)
class Demand(nn.Module):
    def __init__(self, bins=10):
        super().__init__()
        self.emb = nn.Embedding(bins, 12, padding_idx=0)
        self.rnn = nn.GRU(12, 32, batch_first=True)
        self.out = nn.Linear(32, bins)
    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])
model = Demand()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(100):
    phase = torch.randint(0, 7, (32, 1))
    day = (torch.arange(22) + phase) % 7
    sales = torch.where(day < 4, 0, day + torch.randint(0, 3, (32, 22)))
    logits = model(sales[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), sales[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
