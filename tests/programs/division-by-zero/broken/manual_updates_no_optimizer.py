import torch

torch.manual_seed(0)
w1 = (torch.randn(4, 8) * 0.3).requires_grad_()
w2 = (torch.randn(8, 1) * 0.3).requires_grad_()
x = torch.randn(32, 4)
y = torch.rand(32, 1)
for i in range(300):
    if i == 120:
        x[5] = 0
    hidden = (x @ w1).clamp(min=0)
    scale = hidden.sum(1, keepdim=True)
    out = (hidden @ w2) / scale  # <- division-by-zero
    loss = (out - y).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (w1, w2):
            p -= 0.01 * p.grad
            p.grad.zero_()
