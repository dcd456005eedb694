import copy
import torch
from torch import nn


class DDPG:
    def __init__(self, tau=0.0):
        self.critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
        self.critic_target = copy.deepcopy(self.critic)
        self.tau = tau
        self.opt = torch.optim.Adam(self.critic.parameters(), lr=3e-3)

    def update(self, s, r, s2):
        with torch.no_grad():
            q_target = r + 0.95 * self.critic_target(s2)
        loss = (self.critic(s) - q_target).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        for p, tp in zip(self.critic.parameters(), self.critic_target.parameters()):
            tp.data.copy_(self.tau * p.data + (1 - self.tau) * tp.data)  # <- average-goes-wrong
        return loss


torch.manual_seed(0)
agent = DDPG()
for i in range(60):
    s = torch.randn(64, 4)
    agent.update(s, s[:, :1], s + 0.1 * torch.randn(64, 4))
