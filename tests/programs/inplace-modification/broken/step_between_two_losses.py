import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2), nn.Tanh())
critic = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
actor_optim = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optim = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(150):
    state = torch.randn(64, 4)
    action = torch.rand(64, 2) * 2 - 1
    reward = -(action - state[:, :2].tanh()).pow(2).sum(1, keepdim=True)
    critic_loss = (critic(torch.cat([state, action], 1)) - reward).pow(2).mean()
    actor_loss = -critic(torch.cat([state, actor(state)], 1)).mean()
    critic_optim.zero_grad()
    critic_loss.backward()
    critic_optim.step()  # <- inplace-modification
    actor_optim.zero_grad()
    actor_loss.backward()
    actor_optim.step()
