import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.MSELoss()
for epoch in range(20):
    parts = []
    for head in range(2):
        x = torch.randn(16, 4)
        parts.append(criterion(model(x)[:, head], x.sum(dim=1)).item())
    loss = torch.tensor(parts, requires_grad=True).mean()  # <- detached-graph
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
