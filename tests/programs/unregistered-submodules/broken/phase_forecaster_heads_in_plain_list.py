import torch
from torch import nn

torch.manual_seed(1)
series = torch.cumsum(torch.randn(300, 24) * 0.2, 1)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 12), nn.Linear(12, 24))

    def forward(self, s):
        return self.net(s)

    def code(self, s):
        return self.net[:3](s)


class Forecaster(nn.Module):
    def __init__(self, horizon):
        super().__init__()
        self.mix = nn.Linear(12, 12)
        self.heads = [nn.Linear(12, 1) for _ in range(horizon)]  # <- unregistered-submodules

    def forward(self, code):
        h = torch.tanh(self.mix(code))
        return torch.cat([head(h) for head in self.heads], dim=1)


den = Denoiser()
opt = torch.optim.Adam(den.parameters(), lr=2e-3)
for i in range(70):
    clean = series[torch.randint(0, 300, (64,))]
    loss = (den(clean + 0.1 * torch.randn_like(clean)) - clean).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("denoise", loss.item())

fc = Forecaster(4)
opt = torch.optim.Adam(fc.parameters(), lr=2e-3)
for i in range(70):
    s = series[torch.randint(0, 300, (64,))]
    with torch.no_grad():
        c = den.code(torch.cat([s[:, :20], s[:, 19:20].expand(-1, 4)], 1))
    loss = (fc(c) - s[:, 20:]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("forecast", loss.item())
