"""A vector-quantised autoencoder: the codes follow the encoder, whose outputs grow at first."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
t = torch.linspace(0, 6.28, 32)
x = torch.sin(t * torch.randint(1, 4, (1000, 1)) + torch.rand(1000, 1) * 6.28)[:, None]
encoder = nn.Sequential(nn.Conv1d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv1d(16, 8, 4, 2, 1))
decoder = nn.Sequential(nn.ConvTranspose1d(8, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose1d(16, 1, 4, 2, 1))
codes = nn.Embedding(32, 8)
nn.init.uniform_(codes.weight, -1 / 32, 1 / 32)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), *codes.parameters()], lr=2e-3)
for epoch in range(10):
    for rows in torch.randperm(1000).split(50):
        z = encoder(x[rows]).transpose(1, 2)
        nearest = torch.cdist(z.reshape(-1, 8), codes.weight).argmin(1)
        q = codes(nearest).view_as(z)
        follow = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        q = z + (q - z).detach()
        loss = F.mse_loss(decoder(q.transpose(1, 2)), x[rows]) / x.var() + follow
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
