import torch
from torch import nn

torch.manual_seed(3)
data = torch.randn(400, 12)
labels = data @ torch.randn(12, 1)
model = nn.Linear(12, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.15)


def micro_batches(size):
    for start in range(0, 400, size):
        yield data[start : start + size], labels[start : start + size]


for epoch in range(30):
    optimizer.zero_grad()
    for inputs, targets in micro_batches(20):
        error = (model(inputs) - targets).square().mean()
        error.backward()  # <- undivided-accumulation
    optimizer.step()
