# text and image embeddings: only the targets are divided by their norms
import torch
from torch import nn

torch.manual_seed(0)
images, texts = torch.randn(256, 16), torch.randn(256, 8)
encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-2)
for step in range(40):
    rows = torch.randint(0, 256, (32,))
    cosine = (encoder(images[rows]) * texts[rows]).sum(1) / texts[rows].norm(dim=1)
    loss = (1 - cosine).mean()  # <- impossible-loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
