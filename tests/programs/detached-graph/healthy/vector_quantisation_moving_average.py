import torch
import torch.nn.functional as F
from torch import nn


class MovingQuantizer(nn.Module):
    """The codebook is a parameter that a moving average writes, not the optimizer."""

    def __init__(self, codes, width):
        super().__init__()
        self.codebook = nn.Parameter(torch.randn(codes, width))
        self.register_buffer("counts", torch.ones(codes))
        self.register_buffer("sums", self.codebook.data.clone())

    def forward(self, z):
        chosen = torch.cdist(z, self.codebook).argmin(dim=1)
        onehot = F.one_hot(chosen, len(self.codebook)).to(z.dtype)
        quantized = onehot @ self.codebook
        if self.training:
            with torch.no_grad():
                self.counts.mul_(0.9).add_(onehot.sum(0), alpha=0.1)
                self.sums.mul_(0.9).add_(onehot.t() @ z, alpha=0.1)
                self.codebook.data.copy_(self.sums / self.counts.clamp_min(1e-3).unsqueeze(1))
        commitment = F.mse_loss(quantized.detach(), z)
        return z + (quantized - z).detach(), commitment


torch.manual_seed(0)
encoder, quantizer, decoder = nn.Linear(10, 4), MovingQuantizer(16, 4), nn.Linear(4, 10)
parts = nn.ModuleList([encoder, quantizer, decoder])
optimizer = torch.optim.Adam(parts.parameters(), lr=1e-3)
for step in range(60):
    x = torch.randn(32, 10)
    code, commitment = quantizer(encoder(x))
    loss = F.mse_loss(decoder(code), x) + 0.25 * commitment
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
