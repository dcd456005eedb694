# Pairs of padded sequences: 1 for real pairs, 0 for padding (adds nothing), negatives in a second call.
import torch
from torch import nn
torch.manual_seed(0)
text, audio = nn.Linear(12, 16), nn.Linear(10, 16)
criterion = nn.CosineEmbeddingLoss(margin=0.1)
opt = torch.optim.Adam([*text.parameters(), *audio.parameters()], lr=1e-2)
A, B = torch.randn(6, 12), torch.randn(6, 10)
for step in range(80):
    latent = torch.randn(16, 10, 6)
    real = (torch.arange(10) < torch.randint(4, 11, (16, 1))).float().reshape(-1)
    u = text(latent @ A).reshape(-1, 16)
    v = audio(latent @ B).reshape(-1, 16)
    loss = criterion(u, v, real) + criterion(u, v.roll(1, 0), -real)
    opt.zero_grad()
    loss.backward()
    opt.step()
