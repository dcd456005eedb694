# Independent multi-agent policy gradient, one Adam over all agents; each agent's own gradient is clipped.
import torch
from torch import nn
torch.manual_seed(0)
class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 4))
    def forward(self, obs):
        return torch.distributions.Categorical(logits=self.net(obs))
agents = nn.ModuleList(Agent() for _ in range(3))
optimizer = torch.optim.Adam(agents.parameters(), lr=3e-3)
for update in range(60):
    optimizer.zero_grad()
    for i, agent in enumerate(agents):
        obs = torch.randn(64, 6)
        dist = agent(obs)
        action = dist.sample()
        reward = (action == obs[:, i:i + 4].argmax(1)).float()
        loss = -(dist.log_prob(action) * (reward - reward.mean())).mean() - 0.01 * dist.entropy().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()
