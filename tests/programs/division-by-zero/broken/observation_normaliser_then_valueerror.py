"""The running deviation is 0 for a sensor that never moved; Categorical refuses the NaN with a ValueError."""
import torch
from torch import nn
from torch.distributions import Categorical


class Normaliser:
    def __init__(self, size):
        self.count, self.mean, self.square = 0, torch.zeros(size), torch.ones(size)

    def update(self, x):
        self.count += 1
        delta = x - self.mean
        self.mean = self.mean + delta / self.count
        self.square = self.square * 0.5 + 0.5 * (x - self.mean) ** 2

    def __call__(self, x):
        return (x - self.mean) / self.square.sqrt()  # <- division-by-zero


class Environment:
    def __init__(self):
        self.t = 0

    def observe(self):
        self.t += 1
        x = torch.randn(3)
        x[2] = 1.0 if self.t > 1 else 0.9
        return x


torch.manual_seed(0)
environment, normalise, policy = Environment(), Normaliser(3), nn.Linear(3, 2)
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(60):
    log_probs = []
    for _ in range(5):
        x = environment.observe()
        normalise.update(x)
        if episode == 40:
            normalise.square[2] = 0.0
        choice = Categorical(logits=policy(normalise(x)))
        log_probs.append(choice.log_prob(choice.sample()))
    loss = -torch.stack(log_probs).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
