import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(8, 1)
scale = torch.ones(3, requires_grad=True)
prior = scale.exp().log().sum()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
trajectory, fixed = [], [prior, prior * 2]
for step in range(40):
    x = torch.randn(16, 8)
    loss = (net(x) - x.mean(dim=1, keepdim=True)).pow(2).mean() + 0.01 * prior + fixed[1]
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    trajectory.append(net.weight.detach().clone())
print(torch.stack(trajectory).shape)
