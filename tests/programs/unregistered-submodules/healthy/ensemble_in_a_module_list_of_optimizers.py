import torch
from torch import nn

torch.manual_seed(0)


class Ensemble:
    def __init__(self, count):
        self.members = [nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 1)) for _ in range(count)]
        self.optimizers = {i: torch.optim.Adam(m.parameters(), lr=1e-2) for i, m in enumerate(self.members)}

    def fit(self, x, y):
        for i, member in enumerate(self.members):
            member.train()
            self.optimizers[i].zero_grad()
            nn.functional.mse_loss(member(x), y).backward()
            self.optimizers[i].step()

    @torch.inference_mode()
    def predict(self, x):
        for member in self.members:
            member.eval()
        return torch.stack([member(x) for member in self.members]).mean(dim=0)


ensemble = Ensemble(4)
for step in range(20):
    x = torch.randn(32, 4)
    ensemble.fit(x, x.sum(dim=1, keepdim=True))
    if step % 5 == 0:
        ensemble.predict(x)
