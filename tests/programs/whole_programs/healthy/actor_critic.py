import torch
from torch import nn
from torch.distributions import Categorical
torch.manual_seed(0)
class Actor(nn.Module):
    def __init__(self):
        super().__init__(); self.net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
    def forward(self, s): return Categorical(logits=self.net(s))
class Critic(nn.Module):
    def __init__(self):
        super().__init__(); self.net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
    def forward(self, s): return self.net(s).squeeze(-1)
class Agent:
    def __init__(self):
        self.actor, self.critic = Actor(), Critic()
        self.opt_a = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.opt_c = torch.optim.Adam(self.critic.parameters(), lr=1e-2)
    def rollout(self, n=16):
        s = torch.randn(4); states, logps, rewards = [], [], []
        for _ in range(n):
            dist = self.actor(s); a = dist.sample()
            logps.append(dist.log_prob(a)); states.append(s)
            rewards.append((s[0] * (a.item() - 1)).item())
            s = torch.tanh(s + 0.3 * torch.randn(4))
        return torch.stack(states), torch.stack(logps), torch.tensor(rewards)
    def update(self):
        states, logps, rewards = self.rollout()
        returns = rewards.flip(0).cumsum(0).flip(0)
        values = self.critic(states)
        advantage = (returns - values).detach()
        self.opt_a.zero_grad(); (-(logps * advantage).mean()).backward(); self.opt_a.step()
        self.opt_c.zero_grad(); nn.functional.mse_loss(values, returns).backward(); self.opt_c.step()
agent = Agent()
for i in range(30):
    agent.update()
with torch.no_grad():
    print(agent.rollout()[2].sum())
