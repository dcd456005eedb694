import torch
from torch import nn


class FactorisationMachine(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Embedding(50, 1)
        self.embed = nn.Embedding(50, 4)

    def forward(self, fields):
        linear = self.bias(fields).sum(dim=1).squeeze(1)
        vectors = self.embed(fields)
        pairs = 0.5 * (vectors.sum(dim=1).pow(2) - vectors.pow(2).sum(dim=1)).sum(dim=1)
        return linear + pairs


class Radial(nn.Module):
    def __init__(self):
        super().__init__()
        self.centres = nn.Parameter(torch.linspace(-2, 2, 32))
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        return self.out(torch.exp(-((x - self.centres) ** 2)))


torch.manual_seed(0)
machine, radial = FactorisationMachine(), Radial()
optimizer = torch.optim.Adam([*machine.parameters(), *radial.parameters()], lr=1e-2)
criterion = nn.BCEWithLogitsLoss()
for step in range(40):
    fields = torch.randint(0, 50, (32, 5))
    labels = (fields[:, 0] > 25).float()
    x = torch.randn(32, 1)
    weights = torch.rand(32, 1)
    fit = (weights * (radial(x) - x.sin()) ** 2).mean()
    loss = criterion(machine(fields), labels) + fit
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
