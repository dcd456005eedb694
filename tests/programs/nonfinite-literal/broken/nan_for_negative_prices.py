import torch

prices = torch.tensor([3.0, 1.0, -2.0, 5.0])
positive = torch.where(prices > 0, prices, torch.tensor(float("nan")))  # <- nonfinite-literal
returns = torch.log(positive)
print("mean log price:", returns.mean().item())
