"""Curve fitting with LBFGS: the first line step makes the argument of the logarithm negative."""
import torch

torch.manual_seed(0)
t = torch.linspace(0.1, 4, 60)
y = 2.0 * torch.log(1.5 * t + 0.3) - 6.0 + 0.01 * torch.randn(60)
a = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(0.05, requires_grad=True)
c = torch.tensor(0.2, requires_grad=True)
fit = torch.optim.LBFGS([a, b, c], lr=1.0, max_iter=10)


def model(t):
    return a * torch.log(b * t + c)  # <- log-of-nonpositive


def closure():
    fit.zero_grad()
    loss = torch.mean((model(t) - y) ** 2)
    loss.backward()
    return loss


for epoch in range(5):
    value = fit.step(closure)
    print(epoch, value.item(), a.item(), b.item())
