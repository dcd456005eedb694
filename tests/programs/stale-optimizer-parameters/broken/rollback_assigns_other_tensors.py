"""Training that rolls back to the best checkpoint when the loss jumps; the rollback assigns new tensors."""
import copy

import torch
from torch import nn


class Sine(nn.Module):
    def forward(self, x):
        return torch.sin(3 * x)


def siren():
    return nn.Sequential(nn.Linear(1, 32), Sine(), nn.Linear(32, 32), Sine(), nn.Linear(32, 1))


class Rollback:
    def __init__(self, model, factor=1.3):
        self.model, self.factor = model, factor
        self.best, self.state = float("inf"), None

    def check(self, loss):
        if loss < self.best:
            self.best, self.state = loss, copy.deepcopy(self.model.state_dict())
        elif loss > self.factor * self.best:
            self.model.load_state_dict(self.state, assign=True)  # <- stale-optimizer-parameters
            return True
        return False


def main():
    torch.manual_seed(0)
    model = siren()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    guard = Rollback(model)
    x = torch.linspace(-1, 1, 128)[:, None]
    y = torch.sin(5 * x) * x
    for step in range(160):
        idx = torch.randperm(128)[:32]
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 9:
            rolled = guard.check(loss.item())
            print(step, round(loss.item(), 5), "rolled back" if rolled else "")


main()
