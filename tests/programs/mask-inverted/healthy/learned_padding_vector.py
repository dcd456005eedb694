import torch
from torch import nn


class Filled(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(5, 16)
        self.empty = nn.Parameter(torch.randn(16))
        self.mix = nn.GRU(16, 16, batch_first=True)
        self.head = nn.Linear(16, 2)

    def forward(self, frames, missing):
        missing = missing.unsqueeze(-1).float()
        h = self.project(frames) * (1 - missing) + self.empty * missing
        return self.head(self.mix(h)[0][:, -1])


torch.manual_seed(0)
model = Filled()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(8):
    frames = torch.randn(8, 10, 5)
    missing = torch.arange(10)[None] >= torch.randint(4, 10, (8, 1))
    frames[missing] = 0
    loss = nn.functional.cross_entropy(model(frames, missing), (frames[:, 0, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
