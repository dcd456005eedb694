import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Linear(4, 6)
value = nn.Linear(4, 1)
optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=1e-3)
for update in range(15):
    state = torch.randn(10, 4)
    illegal = torch.rand(10, 6) > 0.6
    illegal[:, 2] = False
    logits = policy(state).masked_fill(illegal, float("-inf"))
    chosen = Categorical(logits=logits)
    action = chosen.sample()
    q = torch.where(illegal, torch.tensor(-float("inf")), torch.rand(10, 6))
    target = q.max(dim=1).values
    advantage = target - value(state).squeeze(1)
    p = chosen.probs
    entropy = -(p * torch.log(p.clamp(min=1e-8))).sum(1)
    loss = -(chosen.log_prob(action) * advantage.detach()).mean() + advantage.pow(2).mean() - 0.01 * entropy.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
