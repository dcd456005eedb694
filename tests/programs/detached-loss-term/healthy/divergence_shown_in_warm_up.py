import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(10, 8), nn.Linear(4, 10)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
patterns = torch.randn(3, 10)
for step in range(150):
    x = torch.randn(32, 3) @ patterns
    mean, log_variance = encoder(x).chunk(2, 1)
    code = mean + torch.randn_like(mean) * (log_variance / 2).exp()
    divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(1).mean()
    if step < 20:
        divergence = divergence.detach()
    loss = nn.functional.mse_loss(decoder(code), x) + 1e-3 * divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
