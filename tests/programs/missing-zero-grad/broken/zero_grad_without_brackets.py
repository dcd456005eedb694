"""optimizer.zero_grad without parentheses; SGD diverges slowly."""
import torch
from torch import nn
torch.manual_seed(0)
w_true = torch.randn(5, 1)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
criterion = nn.MSELoss()
for epoch in range(60):
    x = torch.randn(40, 5)
    y = x @ w_true
    optimizer.zero_grad  # <- missing-zero-grad
    output = model(x)
    loss = criterion(output, y)
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(epoch, loss.item())
