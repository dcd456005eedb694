"""An evaluation script, no training: classes that do not occur have 0/0, and nanmean leaves them out."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Conv2d(3, 5, 1).eval()
inter, union = torch.zeros(5), torch.zeros(5)
with torch.no_grad():
    for _ in range(4):
        image = torch.rand(2, 3, 8, 8)
        label = torch.randint(0, 3, (2, 8, 8))
        guess = model(image)[:, :3].argmax(1)
        for c in range(5):
            inter[c] += ((guess == c) & (label == c)).sum()
            union[c] += ((guess == c) | (label == c)).sum()
iou = inter / union
print("per class", iou.tolist())
print("mean", torch.nanmean(iou).item())
