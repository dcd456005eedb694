import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
data, target = torch.randn(64, 10), torch.randint(0, 3, (64,))


def fgsm(x, y, eps=0.1):
    x = x.clone().requires_grad_(True)
    x = x + 0.01 * torch.randn_like(x)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    return (x + eps * x.grad.sign()).detach()  # <- unexplained-error


for epoch in range(5):
    adv = fgsm(data, target)
    opt.zero_grad()
    nn.functional.cross_entropy(model(adv), target).backward()
    opt.step()
