"""MAML with a functional inner loop; the inner rate is learned through a logarithm of it."""
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
inner_rate = nn.Parameter(torch.tensor(0.05))
outer = torch.optim.Adam([*net.parameters(), inner_rate], lr=1e-2)


def adapt(parameters, x, y):
    loss = (functional_call(net, parameters, (x,)) - y).pow(2).mean()
    gradients = torch.autograd.grad(loss, parameters.values(), create_graph=True)
    rate = torch.exp(torch.log(inner_rate))  # <- log-of-nonpositive
    return {name: p - rate * g for (name, p), g in zip(parameters.items(), gradients)}


for episode in range(30):
    phase = torch.rand(1) * 3
    x = torch.rand(10, 1) * 4 - 2
    y = torch.sin(x + phase)
    fast = adapt(dict(net.named_parameters()), x[:5], y[:5])
    loss = (functional_call(net, fast, (x[5:],)) - y[5:]).pow(2).mean() + 5 * inner_rate
    outer.zero_grad()
    loss.backward()
    outer.step()
