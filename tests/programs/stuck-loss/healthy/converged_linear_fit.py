import torch
torch.manual_seed(0)
x = torch.linspace(0, 1, 100)[:, None]
y = 3 * x + 1 + 0.1 * torch.randn(100, 1)
a = torch.zeros(1, requires_grad=True); b = torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([a, b], lr=0.5)
for i in range(1000):
    loss = ((a * x + b - y) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(a.item(), b.item(), loss.item())
