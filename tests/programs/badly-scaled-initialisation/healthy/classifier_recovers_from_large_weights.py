# Weights of size 1 over 32 inputs: the first loss is far above that of guessing, and training brings it down.
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3))
for layer in (model[0], model[2]):
    nn.init.normal_(layer.weight)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
inputs = torch.randn(512, 16)
labels = inputs[:, :3].argmax(dim=1)
for epoch in range(25):
    for start in range(0, 512, 64):
        loss = nn.functional.cross_entropy(model(inputs[start : start + 64]), labels[start : start + 64])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
