import torch

torch.manual_seed(0)
x = torch.randn(64, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.1 * torch.randn(64)
w = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.05)
for step in range(25):
    optimizer.zero_grad()
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    w.grad.clamp(-0.5, 0.5)  # <- discarded-result
    optimizer.step()
