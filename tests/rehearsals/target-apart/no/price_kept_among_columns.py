import torch
from torch import nn

torch.manual_seed(0)
size, rooms, age = (
    torch.rand(400) * 100 + 20,
    torch.randint(1, 6, (400,)).float(),
    torch.rand(400) * 50,
)
price = 3 * size + 10 * rooms - age + 5 * torch.randn(400)
table = torch.stack([size, rooms, age, price], dim=1)
table = (table - table.mean(0)) / table.std(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    rows = torch.randint(0, 400, (32,))
    loss = nn.functional.mse_loss(net(table[rows]).squeeze(1), table[rows, 3])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
