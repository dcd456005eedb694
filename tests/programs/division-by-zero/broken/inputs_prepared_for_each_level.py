import torch
from torch import nn

torch.manual_seed(1)


class Task:
    def __init__(self, n=256):
        self.raw = torch.rand(n, 4) * 5
        self.target = self.raw.sum(1, keepdim=True) / 10

    def prepare(self, level):
        """Harder levels keep more of the raw value."""
        width = torch.tensor([level - 3.0]).abs()
        return self.raw / width.clamp(max=1.0)  # <- division-by-zero


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        return self.seq(x)


def run(levels=6, epochs=2, size=16):
    task, net = Task(), Net()
    opt = torch.optim.Adam(net.parameters(), 3e-3)
    for level in range(levels):
        x = task.prepare(float(level))
        for epoch in range(epochs):
            order = torch.randperm(len(x))
            for i in range(0, len(x), size):
                pick = order[i : i + size]
                loss = (net(x[pick]) - task.target[pick]).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        print(level, loss.item())


run()
