import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(480, 14)
Y = X[:, :4].argmax(1)
data = DataLoader(TensorDataset(X, Y), batch_size=48, shuffle=True)


class Denoise(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(14, 32), nn.ELU(), nn.Linear(32, 20))
        self.decoder = nn.Linear(20, 14)

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Probe(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder.requires_grad_(False)
        self.out = nn.Linear(20, 4)

    def forward(self, x):
        return torch.log_softmax(self.out(self.encoder(x)), dim=0)  # <- softmax-over-batch


def loop(model, optimizer, criterion, epochs):
    for _ in range(epochs):
        for xb, yb in data:
            optimizer.zero_grad()
            loss = criterion(model, xb, yb)
            loss.backward()
            optimizer.step()
        print(f"{loss.item():.3f}")


ae = Denoise()
loop(ae, torch.optim.Adam(ae.parameters(), 2e-3), lambda m, x, y: ((m(x + 0.1 * torch.randn_like(x)) - x) ** 2).mean(), 4)
probe = Probe(ae.encoder)
loop(probe, torch.optim.Adam(probe.out.parameters(), 1e-2), lambda m, x, y: nn.functional.nll_loss(m(x), y), 6)
