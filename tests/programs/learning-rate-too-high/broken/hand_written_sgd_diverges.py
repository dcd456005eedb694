"""No optimizer: the update is written by hand with a rate that is far too high."""
import torch

torch.manual_seed(0)
x = torch.randn(100, 5)
y = x @ torch.randn(5, 1)
w = torch.zeros(5, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
rate = 3.0
for epoch in range(200):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (w, b):
            p -= rate * p.grad  # <- learning-rate-too-high
            p.grad.zero_()
print(loss.item())
