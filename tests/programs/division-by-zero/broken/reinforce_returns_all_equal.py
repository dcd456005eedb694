"""Returns are normalised by their deviation, and one episode has the same return at every step."""
import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)


def play(length, lucky):
    states = torch.randn(length, 3)
    actions = torch.distributions.Categorical(logits=policy(states)).sample()
    rewards = torch.ones(length) if lucky else torch.rand(length)
    return states, actions, rewards


def finish_episode(states, actions, returns):
    advantage = (returns - returns.mean()) / returns.std()  # <- division-by-zero
    log_probs = torch.log_softmax(policy(states), dim=1)[torch.arange(len(actions)), actions]
    loss = -(log_probs * advantage).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for episode in range(60):
    finish_episode(*play(10, lucky=episode == 37))
