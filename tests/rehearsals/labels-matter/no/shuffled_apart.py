import torch
from torch import nn

torch.manual_seed(0)
inputs = torch.randn(1024, 8)
labels = (inputs[:, 0] + inputs[:, 1] > 0).long()
inputs = inputs[torch.randperm(1024)]  # the labels keep their order
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for start in range(0, 1024, 32):
    batch = slice(start, start + 32)
    loss = nn.functional.cross_entropy(model(inputs[batch]), labels[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
