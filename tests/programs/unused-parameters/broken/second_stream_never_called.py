"""Two-stream network; the second stream's output is overwritten by a typo."""
import torch
from torch import nn


class Stream(nn.Module):
    def __init__(self, i, o=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(i, o), nn.ReLU(), nn.Linear(o, o), nn.ReLU())

    def forward(self, x):
        return self.net(x)


class TwoStream(nn.Module):
    def __init__(self):
        super().__init__()
        self.audio = Stream(10)
        self.video = Stream(14)  # <- unused-parameters
        self.fuse = nn.Linear(48, 4)

    def forward(self, audio, video):
        a = self.audio(audio)
        v = self.audio(video[:, :10])
        return self.fuse(torch.cat([a, v], -1))


def clips(n=64):
    y = torch.randint(0, 4, (n,))
    audio = torch.randn(n, 10)
    video = torch.randn(n, 14)
    audio[torch.arange(n), y % 2] += 1.5
    video[torch.arange(n), 10 + y // 2] += 2.0
    return audio, video, y


torch.manual_seed(0)
model = TwoStream()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=50, gamma=0.5)
for step in range(120):
    audio, video, y = clips()
    loss = nn.functional.cross_entropy(model(audio, video), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 40 == 0:
        print(step, loss.item())
