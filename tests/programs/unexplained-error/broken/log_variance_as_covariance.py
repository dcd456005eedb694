import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(6, 4)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(5):
    x = torch.randn(16, 6)
    mean, log_variance = net(x).chunk(2, dim=1)
    p = torch.distributions.MultivariateNormal(mean, torch.diag_embed(log_variance))  # <- unexplained-error
    loss = -p.log_prob(x[:, :2]).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
