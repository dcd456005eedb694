"""Segmentation without padding: the output is 4 pixels smaller than the mask."""
import torch
from torch import nn

torch.manual_seed(0)
seg = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 2, 3))
opt = torch.optim.Adam(seg.parameters())
crit = nn.CrossEntropyLoss()
for i in range(3):
    img = torch.rand(2, 3, 12, 12)
    mask = (img[:, 0] > 0.5).long()
    loss = crit(seg(img), mask)  # <- target-shape-mismatch
    opt.zero_grad()
    loss.backward()
    opt.step()
