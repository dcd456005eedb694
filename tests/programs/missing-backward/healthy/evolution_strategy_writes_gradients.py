"""Evolution strategy: gradients written by hand into .grad, no backward at all."""
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.02)
x = torch.randn(64, 3); y = (x[:, :1] * 2).tanh()


@torch.no_grad()
def fitness(vec):
    nn.utils.vector_to_parameters(vec, net.parameters())
    return -((net(x) - y) ** 2).mean()


for gen in range(80):
    centre = nn.utils.parameters_to_vector(net.parameters()).detach().clone()
    noise = torch.randn(24, centre.numel())
    scores = torch.stack([fitness(centre + 0.1 * n) - fitness(centre - 0.1 * n) for n in noise])
    grad = -(scores[:, None] * noise).mean(0) / 0.2
    nn.utils.vector_to_parameters(centre, net.parameters())
    i = 0
    for p in net.parameters():
        p.grad = grad[i:i + p.numel()].view_as(p).clone(); i += p.numel()
    opt.step()
    if gen % 20 == 0:
        print(gen, -fitness(centre).item())
        nn.utils.vector_to_parameters(centre, net.parameters())
