"""Inner parameters of functional_call are made of detached copies, so the model gets no gradient."""
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 20), nn.Tanh(), nn.Linear(20, 1))
scale = nn.Parameter(torch.ones(1))
opt = torch.optim.Adam([*net.parameters(), scale], lr=1e-2)
for step in range(80):
    x = torch.rand(32, 3) * 4 - 2
    y = x.sin().sum(1, keepdim=True)
    params = {k: v.detach() for k, v in net.named_parameters()}  # <- detached-graph
    loss = nn.functional.mse_loss(scale * functional_call(net, params, (x,)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
