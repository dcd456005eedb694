"""MAML by functional_call; the meta-gradient is lost because the adapted weights are detached."""
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 1))
meta = torch.optim.Adam(net.parameters(), lr=1e-3)


def task():
    a, p = torch.rand(1) * 4 + 1, torch.rand(1) * 3.14
    def draw(n=10):
        x = torch.rand(n, 1) * 10 - 5
        return x, a * torch.sin(x + p)
    return draw


def adapt(draw, lr=0.01, k=3):
    weights = {n: p.clone() for n, p in net.named_parameters()}
    for _ in range(k):
        x, y = draw()
        loss = ((functional_call(net, weights, x) - y) ** 2).mean()
        grads = torch.autograd.grad(loss, weights.values(), create_graph=True)
        weights = {n: (w - lr * g).detach().requires_grad_() for (n, w), g in zip(weights.items(), grads)}  # <- detached-graph
    return weights


for it in range(40):
    losses = []
    for _ in range(4):
        draw = task()
        w = adapt(draw)
        x, y = draw()
        losses.append(((functional_call(net, w, x) - y) ** 2).mean())
    total = torch.stack(losses).mean()
    meta.zero_grad()
    total.backward()
    meta.step()
    if it % 10 == 0:
        print(it, total.item())
