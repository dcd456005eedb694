import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def dice(logits, masks):
    p = torch.softmax(logits, dim=1)
    onehot = F.one_hot(masks, 4).permute(0, 3, 1, 2).float()
    overlap = (p * onehot).sum(dim=(0, 2, 3))
    total = p.sum(dim=(0, 2, 3)) + onehot.sum(dim=(0, 2, 3))
    return 1 - ((2 * overlap + 1) / (total + 1)).mean()


for step in range(30):
    images = torch.rand(4, 3, 16, 16)
    masks = (images.mean(dim=1) * 4).long().clamp(0, 3)
    logits = model(images)
    loss = F.cross_entropy(logits, masks) + dice(logits, masks) + F.nll_loss(F.log_softmax(logits, dim=1), masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
