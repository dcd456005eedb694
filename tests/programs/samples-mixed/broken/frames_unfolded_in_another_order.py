"""Video snippets: frames are folded into the batch and unfolded in the wrong order."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class FrameNet(nn.Module):
    def __init__(self, f=12, d=20):
        super().__init__()
        self.frame = nn.Sequential(nn.Linear(f, d), nn.ReLU())
        self.head = nn.Linear(d, 3)

    def forward(self, clips):
        b, t, f = clips.shape
        h = self.frame(clips.reshape(b * t, f))
        h = h.view(t, b, -1).mean(0)  # <- samples-mixed
        return self.head(h)


def make(n=240, t=6):
    g = torch.Generator().manual_seed(0)
    y = torch.randint(0, 3, (n,), generator=g)
    x = torch.randn(n, t, 12, generator=g)
    x[torch.arange(n), :, y] += 1.0
    return TensorDataset(x, y)


def main():
    torch.manual_seed(0)
    model = FrameNet()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        for x, y in DataLoader(make(), 24, shuffle=True):
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


main()
