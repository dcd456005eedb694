# REINFORCE: log_prob through .item(): policy never learns
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
value = nn.Linear(4, 1)
opt = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=1e-2)
for episode in range(60):
    log_probs, rewards, values = [], [], []
    for t in range(10):
        s = torch.randn(4)
        d = Categorical(logits=policy(s))
        a = d.sample()
        log_probs.append(d.log_prob(a).item())
        rewards.append(float(a.item() == int(s[0] > 0)))
        values.append(value(s).squeeze())
    R = torch.tensor(rewards)
    v = torch.stack(values)
    loss = -(torch.tensor(log_probs) * (R - v.detach())).mean() + (R - v).pow(2).mean()  # <- detached-graph
    opt.zero_grad(); loss.backward(); opt.step()
print(sum(rewards))
