"""A metric that is undefined in the first epochs is printed as nan."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
nn.init.zeros_(model.weight)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(40, 4)
y = x.sum(1)


@torch.no_grad()
def correlation():
    p = model(x).squeeze(1)
    return torch.corrcoef(torch.stack([p, torch.ones_like(y)]))[0, 1]


best = float("-inf")
for epoch in range(5):
    loss = (model(x).squeeze(1) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    r = correlation()
    best = max(best, r.item())
    print(f"{epoch} loss {loss.item():.3f} correlation {r.item()}")
