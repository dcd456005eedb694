import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(23)
x = torch.randn(1120, 10)
y = x @ torch.randn(10, 1) + 0.1 * torch.randn(1120, 1)
x[400:416], y[400:416] = x[400:416] * 5, y[400:416] * 5
loader = DataLoader(TensorDataset(x, y), batch_size=16)
model = nn.Linear(10, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=2e-4, momentum=0.99)
for step, (xb, yb) in enumerate(loader):
    loss = nn.functional.mse_loss(model(xb), yb)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
