"""Returns of a price series; the first one has no predecessor and stays NaN in the table."""

import torch

torch.manual_seed(0)
prices = 100 + torch.randn(30).cumsum(0)
returns = torch.full_like(prices, float("nan"))
returns[1:] = prices[1:] / prices[:-1] - 1
average = torch.full_like(prices, torch.nan)
for t in range(5, 30):
    average[t] = returns[t - 4 : t + 1].mean()
table = torch.stack([prices, returns, average], dim=1)
print(table[:8])
torch.save(table, "table.pt")
print(returns[1:].std().item(), average.nanmedian().item())
