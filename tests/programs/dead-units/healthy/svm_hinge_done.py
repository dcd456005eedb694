import torch
torch.manual_seed(0)
x = torch.randn(100, 2) + torch.tensor([4.0, 4.0]) * (torch.arange(100)[:, None] % 2); y = (torch.arange(100) % 2).float() * 2 - 1
w = torch.zeros(2, requires_grad=True); b = torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([w, b], lr=0.1)
for i in range(300):
    loss = torch.clamp(1 - y * (x @ w + b), min=0).mean()
    opt.zero_grad(); loss.backward(); opt.step()
