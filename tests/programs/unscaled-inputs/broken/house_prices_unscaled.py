"""Style of old tutorials: targets of 0..50000 dollars, SGD."""
import torch
from torch import nn

torch.manual_seed(0)
n = 400
rooms = torch.randint(1, 8, (n, 1)).float()
area = 30 + 25 * rooms + 10 * torch.randn(n, 1)
age = torch.rand(n, 1) * 60
price = 4000 * area + 20000 * rooms - 900 * age + 15000 * torch.randn(n, 1)
features = torch.cat([rooms, area, age], 1)
model = nn.Linear(3, 1)
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(100):
    pred = model(features)  # <- unscaled-inputs
    loss = criterion(pred, price)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(epoch, loss.item())
