"""nan_to_num repairs the value of 0/0, not its gradient."""
import torch
from torch import nn


def attention_pool(scores, values, present):
    weights = scores.exp() * present
    share = weights / weights.sum(1, keepdim=True)  # <- masked-branch-gradient
    share = torch.nan_to_num(share, nan=0.0)
    return (share[..., None] * values).sum(1)


torch.manual_seed(0)
score, value = nn.Linear(4, 1), nn.Linear(4, 4)
optimizer = torch.optim.SGD([*score.parameters(), *value.parameters()], lr=0.01)
for step in range(12):
    x = torch.randn(5, 6, 4)
    present = (torch.arange(6)[None] < torch.tensor([6, 4, 3, 2, 0 if step == 8 else 1])[:, None]).float()
    pooled = attention_pool(score(x).squeeze(-1), value(x), present)
    loss = (pooled - x[:, 0]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
