import torch
import torch.nn.functional as F
from torch import nn


def soft_dice(prob, mask, dims=(1, 2, 3)):
    overlap = (prob * mask).sum(dim=dims)
    size = prob.sum(dim=dims) + mask.sum(dim=dims)
    dice = 2 * overlap / size  # <- division-by-zero
    return 1 - dice.mean()


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.head = nn.Conv2d(4, 1, 1)

    def forward(self, x, roi):
        return F.hardsigmoid(self.head(torch.relu(self.conv(x)))) * roi


torch.manual_seed(0)
model = Segmenter()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for batch in range(8):
        image = torch.rand(4, 1, 8, 8)
        mask = (image > 0.7).float()
        roi = torch.ones(4, 1, 8, 8)
        if (epoch, batch) == (1, 5):
            roi[2] = 0  # nothing of this slice lies in the region of interest
        loss = soft_dice(model(image, roi), mask * roi)
        opt.zero_grad()
        loss.backward()
        opt.step()
