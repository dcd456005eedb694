import torch

torch.manual_seed(0)
w = torch.nn.Parameter(torch.randn(5))
opt = torch.optim.SGD([w], lr=0.05)
scale = 1.0
for it in range(400):
    x = torch.randn(16, 5)
    scale = max(0.0, 1.0 - it / 200)
    pred = x @ w
    loss = ((pred - x.sum(1)) ** 2).mean() / scale  # <- division-by-zero
    opt.zero_grad()
    loss.backward()
    opt.step()
