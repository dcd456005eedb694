"""Detection: the regression loss is a mean over matched boxes, and one image has none."""
from typing import NamedTuple

import torch
from torch import nn


class Targets(NamedTuple):
    boxes: torch.Tensor
    matched: torch.Tensor


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(10, 16)
        self.boxes, self.scores = nn.Linear(16, 4), nn.Linear(16, 1)

    def forward(self, x):
        h = torch.relu(self.body(x))
        return self.boxes(h), self.scores(h).squeeze(-1)


class DetectionLoss(nn.Module):
    def forward(self, boxes, scores, targets):
        positive = targets.matched
        regression = nn.functional.smooth_l1_loss(boxes[positive], targets.boxes[positive])  # <- empty-reduction
        return regression + nn.functional.binary_cross_entropy_with_logits(scores, positive.float())


torch.manual_seed(0)
model, criterion = Detector(), DetectionLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
for image in range(16):
    anchors = torch.randn(20, 10)
    matched = anchors[:, 0] > (0.0 if image != 10 else 99.0)
    loss = criterion(*model(anchors), Targets(torch.rand(20, 4), matched))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
