import torch
from torch import nn


class Learner:
    def __init__(self, backbone):
        self.backbone = backbone
        self.optimizer = torch.optim.Adam(self.backbone.parameters(), lr=1e-2)  # <- stale-optimizer-parameters
        self.backbone[2] = nn.Linear(16, 3)

    def fit(self):
        for _ in range(40):
            x = torch.randn(32, 6)
            y = x[:, :3].argmax(1)
            loss = nn.functional.cross_entropy(self.backbone(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


torch.manual_seed(0)
Learner(nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 10))).fit()
