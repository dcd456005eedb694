import torch
from torch import nn

torch.manual_seed(0)
decoder = nn.Sequential(
    nn.Linear(8, 7 * 7 * 16),
    nn.Unflatten(1, (32, 7, 7)),  # <- reshape-size-mismatch
    nn.ConvTranspose2d(32, 1, 4, 2, 1),
)
opt = torch.optim.Adam(decoder.parameters())
for _ in range(2):
    loss = decoder(torch.randn(4, 8)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
