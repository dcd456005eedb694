import torch
from torch import nn

torch.manual_seed(0)


class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        weights = torch.softmax(self.score(x), dim=-1)  # <- softmax-over-batch
        return (weights * x).sum(1)


model = nn.Sequential(nn.Embedding(30, 16), Pool(), nn.Linear(16, 10))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(60):
    ids = torch.randint(10, 30, (64, 12))
    y = ids[:, 0] = torch.randint(0, 10, (64,))
    loss = nn.functional.cross_entropy(model(ids), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
