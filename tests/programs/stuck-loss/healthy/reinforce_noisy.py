import torch
from torch import nn
torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
baseline = 0.0
for episode in range(200):
    s = torch.randn(20, 4)
    dist = torch.distributions.Categorical(logits=policy(s))
    a = dist.sample()
    r = (a == (s[:, 0] > 0)).float() + torch.randn(20) * 2
    loss = -(dist.log_prob(a) * (r - baseline)).mean()
    baseline = 0.9 * baseline + 0.1 * r.mean().item()
    opt.zero_grad(); loss.backward(); opt.step()
