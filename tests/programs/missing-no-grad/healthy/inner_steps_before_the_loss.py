"""Meta-learning: several inner steps by autograd.grad come before the loss that the outer forward passes feed."""
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(25):
    total = 0.0
    for task in range(5):
        x, slope = torch.rand(10, 1) * 4 - 2, torch.rand(()) + 0.5
        params = dict(net.named_parameters())
        for inner in range(3):
            loss = nn.functional.mse_loss(functional_call(net, params, (x,)), slope * x)
            grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
            params = {name: p - 0.02 * g for (name, p), g in zip(params.items(), grads)}
        total = total + nn.functional.mse_loss(functional_call(net, params, (x + 0.1,)), slope * (x + 0.1))
    optimizer.zero_grad()
    (total / 5).backward()
    optimizer.step()
