import torch
import torch.nn as nn
from torch.distributions import Categorical

class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.actor, self.critic = nn.Linear(32, 3), nn.Linear(32, 1)
    def evaluate(self, s, a):
        h = self.body(s)
        dist = Categorical(logits=self.actor(h))
        return dist.log_prob(a), self.critic(h).squeeze(-1), dist.entropy()
    def act(self, s):
        dist = Categorical(logits=self.actor(self.body(s)))
        a = dist.sample()
        return a, dist.log_prob(a)

torch.manual_seed(0)
net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for update in range(25):
    states = torch.randn(128, 4)
    actions, old_logprobs = net.act(states)
    returns = (actions == states[:, :3].argmax(1)).float()
    for epoch in range(4):
        logprobs, values, entropy = net.evaluate(states, actions)
        ratios = torch.exp(logprobs - old_logprobs)  # <- graph-freed
        adv = returns - values.detach()
        loss = -torch.min(ratios * adv, ratios.clamp(0.8, 1.2) * adv).mean() + 0.5 * (returns - values).pow(2).mean() - 0.01 * entropy.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(update, returns.mean().item())
