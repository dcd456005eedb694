"""A frozen feature net whose gradients are looked at after each epoch (saliency), then frozen again."""
import torch
from torch import nn

torch.manual_seed(0)
features = nn.Sequential(nn.Linear(8, 32), nn.Tanh())
features.requires_grad_(False)
head = nn.Linear(32, 3)
opt = torch.optim.Adam(head.parameters(), lr=1e-2)
for epoch in range(6):
    for _ in range(12):
        x = torch.randn(32, 8)
        loss = nn.functional.cross_entropy(head(features(x)), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    features.requires_grad_(True)
    for _ in range(4):
        x = torch.randn(1, 8)
        head(features(x)).max().backward()
    print(epoch, loss.item(), features[0].weight.grad.norm().item())
    features.requires_grad_(False)
    for p in features.parameters():
        p.grad = None
