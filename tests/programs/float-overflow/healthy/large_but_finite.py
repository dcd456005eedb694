import torch

torch.manual_seed(0)
w = torch.full((4,), 1e15, requires_grad=True)
opt = torch.optim.SGD([w], lr=1e-4)
for step in range(40):
    loss = (w * w).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
