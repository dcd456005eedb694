import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 4)
y = (x.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
warmup = 10_000
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: epoch // warmup)  # <- learning-rate-too-low
for step in range(120):
    rows = torch.randint(0, 256, (32,))
    loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
print(loss.item())
