import torch
from torch import nn


class Annealed:
    def __init__(self, start, steps):
        self.start, self.steps = start, steps

    def __call__(self, step):
        return max(0.0, self.start * (1 - step / self.steps))


torch.manual_seed(0)
temperature = Annealed(2.0, 20)
router, experts = nn.Linear(6, 4), nn.Linear(6, 4)
optimizer = torch.optim.SGD([*router.parameters(), *experts.parameters()], lr=0.01)
for step in range(30):
    x = torch.randn(8, 6)
    tau = temperature(step)
    gate = torch.softmax(router(x) / tau, dim=1)  # <- division-by-zero
    loss = ((gate * experts(x)).sum(1) - x[:, 0]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
