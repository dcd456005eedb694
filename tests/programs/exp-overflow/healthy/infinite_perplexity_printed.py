"""The loss is large and fine; its exponential, only printed, is inf."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(10, 50)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for step in range(12):
    x = torch.randn(20, 10) * 40
    y = torch.randint(0, 50, (20,))
    loss = nn.functional.cross_entropy(model(x) * 10, y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    print(f"loss {loss.item():.1f} perplexity {torch.exp(loss.detach()).item():.1f}")
