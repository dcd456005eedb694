import torch
from torch import nn


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(5, 16)
        self.head = nn.Linear(16, 2)

    def forward(self, frames):
        mask = (frames.abs().sum(-1, keepdim=True) != 0).float()
        h = torch.tanh(self.project(frames)) * mask
        return self.head(h.sum(1) / mask.sum(1).clamp(min=1))


torch.manual_seed(0)
model = Bag()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(8):
    frames = torch.randn(8, 10, 5)
    lengths = torch.tensor([4, 9, 6, 7, 5, 8, 9, 4])
    frames[torch.arange(10)[None] >= lengths[:, None]] = 0
    loss = nn.functional.cross_entropy(model(frames), (frames[:, 0, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
