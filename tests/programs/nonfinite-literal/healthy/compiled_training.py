import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2))
model = torch.compile(net, backend="eager")
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(8):
    x = torch.randn(16, 6)
    logits = model(x)
    mask = torch.where(x[:, :2] > 3, float("-inf"), 0.0)
    loss = nn.functional.cross_entropy(logits, (x[:, 0] > 0).long()) + mask.exp().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
