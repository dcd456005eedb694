import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(100, 3); y = x @ torch.tensor([[1.0], [2.0], [3.0]])
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(300):
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    opt.step()  # <- missing-zero-grad
