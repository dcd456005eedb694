import torch
from torch import nn


def dice_loss(scores, mask, smooth=1.0):
    p = torch.sigmoid(scores)
    overlap = (p * mask).sum(dim=(1, 2, 3))
    total = p.sum(dim=(1, 2, 3)) + mask.sum(dim=(1, 2, 3))
    return 1 - ((2 * overlap + smooth) / (total + smooth)).mean()  # <- impossible-loss


torch.manual_seed(0)
images = torch.rand(32, 1, 8, 8)
masks = (images > 0.6).float() * 255
model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    chosen = torch.randint(0, 32, (8,))
    loss = dice_loss(model(images[chosen]), masks[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
