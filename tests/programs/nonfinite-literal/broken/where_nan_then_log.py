import torch

nan = float("nan")
torch.manual_seed(3)
w = torch.randn(5, requires_grad=True)
opt = torch.optim.Adam([w], lr=0.01)
for step in range(30):
    x = torch.rand(16, 5) - 0.01
    positive = torch.where(x > 0, x, nan)  # <- nonfinite-literal
    loss = ((torch.log(positive) * w).sum(1) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
