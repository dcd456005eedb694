import torch
import torch.nn.functional as F
from torch import nn


class Quantizer(nn.Module):
    def __init__(self, codes, width):
        super().__init__()
        self.codebook = nn.Embedding(codes, width)
        nn.init.uniform_(self.codebook.weight, -1 / codes, 1 / codes)

    def forward(self, z):
        distances = z.pow(2).sum(1, keepdim=True) + self.codebook.weight.pow(2).sum(1) - 2 * z @ self.codebook.weight.t()
        chosen = distances.argmin(dim=1)
        quantized = self.codebook(chosen)
        loss = F.mse_loss(quantized, z.detach()) + 0.25 * F.mse_loss(quantized.detach(), z)
        return z + (quantized - z).detach(), loss


torch.manual_seed(0)
encoder, quantizer, decoder = nn.Linear(10, 4), Quantizer(32, 4), nn.Linear(4, 10)
parts = nn.ModuleList([encoder, quantizer, decoder])
optimizer = torch.optim.Adam(parts.parameters(), lr=1e-3)
for step in range(60):
    x = torch.randn(32, 10)
    code, extra = quantizer(encoder(x))
    loss = F.mse_loss(decoder(code), x) + extra
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
