import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))


def train(optimizer, steps):
    for step in range(steps):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


model.train()
train(torch.optim.Adam(model.parameters(), lr=1e-2), 30)
model.eval()  # fine-tune with the statistics as they are
train(torch.optim.SGD(model.parameters(), lr=1e-3), 30)
