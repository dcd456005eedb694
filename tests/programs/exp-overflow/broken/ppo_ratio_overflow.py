import argparse

import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self, observations, actions):
        super().__init__()
        self.mean = nn.Linear(observations, actions)
        self.log_std = nn.Parameter(torch.full((actions,), -3.0))

    def log_prob(self, observation, action):
        z = (action - self.mean(observation)) / self.log_std.exp()
        return (-0.5 * z**2 - self.log_std).sum(-1)


def update(policy, optimizer, batch, clip):
    observation, action, old_log_prob, advantage = batch
    for _ in range(4):
        ratio = torch.exp(policy.log_prob(observation, action) - old_log_prob)  # <- exp-overflow
        clipped = ratio.clamp(1 - clip, 1 + clip)
        loss = -torch.min(ratio * advantage, clipped * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clip", type=float, default=0.2)
    parser.add_argument("--iterations", type=int, default=8)
    args = parser.parse_args()
    torch.manual_seed(0)
    policy = Policy(5, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
    for iteration in range(args.iterations):
        observation = torch.randn(32, 5)
        with torch.no_grad():
            action = policy.mean(observation) + torch.randn(32, 2) * policy.log_std.exp()
            old = policy.log_prob(observation, action)
            if iteration == 5:
                old[7] = -200.0  # log-probability stored by another version of the actor
        update(policy, optimizer, (observation, action, old, torch.randn(32) - 2.0), args.clip)


if __name__ == "__main__":
    main()
