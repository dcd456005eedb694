import torch
from torch import nn
from torch.distributions import Categorical


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
        self.policy, self.value = nn.Linear(32, 3), nn.Linear(32, 1)

    def forward(self, state):
        h = self.body(state)
        return torch.softmax(self.policy(h), dim=-1), self.value(h)


torch.manual_seed(0)
agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
for episode in range(40):
    states = torch.randn(30, 6)
    probabilities, values = agent(states)
    policy = Categorical(probabilities)
    actions = policy.sample()
    rewards = (actions == states[:, :3].argmax(dim=1)).float().unsqueeze(1)
    returns = rewards + 0.1 * torch.flip(rewards, [0])
    advantages = (returns - values).detach()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    actor = -(policy.log_prob(actions).unsqueeze(1) * advantages).mean()
    loss = actor + 0.5 * nn.functional.mse_loss(values, returns) - 0.01 * policy.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
