import torch
from torch import nn

torch.manual_seed(2)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, s):
        return self.v(s).squeeze(-1)


class Rollout:
    """Fitted value iteration targets with importance ratios."""

    def __init__(self, n, it):
        self.s = torch.randn(n, 4)
        self.r = self.s[:, 0] - self.s[:, 1]
        self.p_new = torch.rand(n).clamp_min(0.05)
        self.p_old = torch.rand(n).clamp_min(0.05)
        if it == 6:
            self.p_new[37] = 0.0
            self.p_old[37] = 0.0

    def targets(self):
        ratio = self.p_new / self.p_old  # <- division-by-zero
        return self.r * ratio.clamp(0.5, 2.0)


def batches(roll, y, size):
    for idx in torch.arange(len(y)).split(size):
        yield roll.s[idx], y[idx]


def main(iters=10):
    critic = Critic()
    opt = torch.optim.Adam(critic.parameters(), 3e-3)
    for it in range(iters):
        roll = Rollout(64, it)
        y = roll.targets()
        for _ in range(2):
            for s, t in batches(roll, y, 16):
                loss = (critic(s) - t).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        print(it, loss.item())


main()
