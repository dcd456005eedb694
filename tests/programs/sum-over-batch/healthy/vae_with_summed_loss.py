import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.mean, self.logvar = nn.Linear(20, 32), nn.Linear(32, 4), nn.Linear(32, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 20), nn.Sigmoid())

    def forward(self, x):
        h = torch.relu(self.encoder(x))
        mean, logvar = self.mean(h), self.logvar(h)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        return self.decoder(z), mean, logvar


torch.manual_seed(0)
data = torch.rand(256, 20).round()
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(5):
    for (x,) in DataLoader(TensorDataset(data), batch_size=32):
        out, mean, logvar = model(x)
        reconstruction = F.binary_cross_entropy(out, x, reduction="sum")
        kl = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp())
        loss = reconstruction + kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
