import torch
from torch import nn

torch.manual_seed(0)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(12, 16)
        self.decode = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 12))

    def forward(self, x):
        mean, log_variance = self.encode(x).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decode(z), mean, log_variance


model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
mixing = torch.randn(3, 12)
for _ in range(30):
    x = torch.randn(32, 3) @ mixing
    out, mean, log_variance = model(x)
    divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(1).mean()
    loss = (out - x).pow(2).sum(1).mean() + divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
