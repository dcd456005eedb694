import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Dropout(0.1))
        self.pi, self.v = nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for iteration in range(8):
    states, actions, logps, rewards = [], [], [], []
    s = torch.randn(16, 4)
    with torch.no_grad():
        for t in range(8):
            dist, value = policy(s)
            a = dist.sample()
            states.append(s); actions.append(a); logps.append(dist.log_prob(a))
            rewards.append((s[:, 0] > 0).float().eq(a.float()).float())
            s = torch.randn(16, 4)
    states, actions = torch.cat(states), torch.cat(actions)
    logps, rewards = torch.cat(logps), torch.cat(rewards)
    for epoch in range(4):
        for i in torch.randperm(128).split(32):
            dist, value = policy(states[i])
            ratio = (dist.log_prob(actions[i]) - logps[i]).exp()
            adv = rewards[i] - value.detach()
            loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean() + 0.5 * (value - rewards[i]).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()
policy.eval()
with torch.no_grad():
    print(policy(torch.randn(4, 4))[0].probs)
