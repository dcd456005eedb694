import torch
from torch import nn


class EMA:
    def __init__(self, model, decay):
        self.model, self.decay = model, decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}

    @torch.no_grad()
    def update(self):
        for name, p in self.model.named_parameters():
            self.shadow[name].add_(self.shadow[name] - p, alpha=1 - self.decay)  # <- average-goes-wrong


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
ema = EMA(model, 0.98)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(50):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(model(x), x[:, :1] * x[:, 1:2])
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update()
