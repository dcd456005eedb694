"""Weights are replaced by new tensors at every step, with a rate that is too high for squared inputs."""
import torch


def predict(w, x):
    return w["a"] * x**2 + w["b"] * x + w["c"]


def gradient_step(w, gradients, rate):
    return {k: (v - rate * g).detach().requires_grad_() for (k, v), g in zip(w.items(), gradients)}  # <- learning-rate-too-high


torch.manual_seed(0)
x = torch.linspace(-10, 10, 50)
y = 0.5 * x**2 - x + 2 + torch.randn(50)
w = {name: torch.zeros((), requires_grad=True) for name in "abc"}
for epoch in range(300):
    loss = (predict(w, x) - y).pow(2).mean()
    loss.backward()
    w = gradient_step(w, [v.grad for v in w.values()], rate=0.01)
    if epoch % 50 == 0:
        print(epoch, loss.item())
