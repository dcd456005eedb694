import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(512, 6)
y = x @ torch.randn(6, 1)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)  # <- stuck-loss
for step in range(400):
    rows = torch.randint(0, 512, (64,))
    loss = ((model(x[rows]) - y[rows]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.grad.neg_()
    optimizer.step()
print(loss.item())
