import torch
from torch import nn

NUM_CLASSES = 9


class Net(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(12, 24), nn.ReLU())
        self.head = nn.Linear(24, num_classes)

    def forward(self, x):
        return self.head(self.features(x))


def train(model, opt, crit):
    for _ in range(20):
        x = torch.randn(32, 12)
        y = torch.arange(32) % 10
        opt.zero_grad()
        crit(model(x), y).backward()  # <- label-out-of-range
        opt.step()


torch.manual_seed(0)
model = Net(NUM_CLASSES)
train(model, torch.optim.Adam(model.parameters()), nn.CrossEntropyLoss())
