import torch
torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)
x = torch.randn(50, 3); y = x @ torch.tensor([1.0, -2.0, 0.5])
for step in range(30):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad.zero_()
v = torch.randn(3, requires_grad=True)
for step in range(30):
    for half in (slice(0, 25), slice(25, 50)):
        (((x[half] @ v - y[half]) ** 2).mean() / 2).backward()
    v.data -= 0.1 * v.grad
    v.grad = None
