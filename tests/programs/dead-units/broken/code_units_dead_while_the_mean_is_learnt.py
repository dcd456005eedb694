"""Autoencoder with a bias initialised far negative by a helper for 'sparse codes'."""
import torch
from torch import nn


class SparseAE(nn.Module):
    def __init__(self, d=20, h=48, code=12):
        super().__init__()
        self.enc1 = nn.Linear(d, h)
        self.enc2 = nn.Linear(h, code)
        self.dec = nn.Sequential(nn.Linear(code, h), nn.ReLU(), nn.Linear(h, d))
        sparsify(self.enc2, -8.0)

    def encode(self, x):
        return torch.relu(self.enc2(torch.relu(self.enc1(x))))

    def forward(self, x):
        z = self.encode(x)
        return self.dec(z), z


def sparsify(layer, bias):
    with torch.no_grad():
        layer.bias.fill_(bias)  # <- dead-units


def objective(model, x, l1=1e-4):
    rec, z = model(x)
    return nn.functional.mse_loss(rec, x) + l1 * z.abs().sum(1).mean()


torch.manual_seed(0)
atoms = torch.randn(10, 20)
model = SparseAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(100):
    x = (torch.rand(64, 10) < 0.3).float() @ atoms
    loss = objective(model, x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(step, loss.item())
