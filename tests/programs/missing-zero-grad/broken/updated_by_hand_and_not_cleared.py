import torch

torch.manual_seed(0)
W1 = torch.randn(10, 30, requires_grad=True)
W2 = torch.randn(30, 1, requires_grad=True)
x = torch.randn(80, 10)
y = x.sum(1, keepdim=True)
lr = 1e-4
for t in range(200):
    h = (x @ W1).clamp(min=0)
    loss = (h @ W2 - y).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        for w in (W1, W2):
            w.data -= lr * w.grad  # <- missing-zero-grad
print(loss.item())
