import torch
from torch import nn

torch.manual_seed(0)


class Agent:
    def __init__(self):
        self.critic = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
        self.actor = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())

    def reward(self, s, a):
        return -((a - s[:, :1].clamp(-1, 1)) ** 2)

    def train_critic(self, steps):
        opt = torch.optim.Adam(self.critic.parameters(), lr=3e-3)
        for i in range(steps):
            s, a = torch.randn(128, 4), torch.rand(128, 1) * 2 - 1
            loss = nn.functional.mse_loss(self.critic(torch.cat([s, a], 1)), self.reward(s, a))
            opt.zero_grad()
            loss.backward()
            opt.step()
        print("critic", loss.item())

    def train_actor(self, steps):
        opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        for i in range(steps):
            s = torch.randn(128, 4)
            q = self.critic(torch.cat([s, self.actor(s)], 1))
            loss = -q.mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if i % 30 == 0:
                print("actor", -loss.item(), self.reward(s, self.actor(s)).mean().item())


agent = Agent()
agent.train_critic(120)
agent.train_actor(90)
