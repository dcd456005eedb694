import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.Tanh())
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(1)


torch.manual_seed(1)
features = torch.randn(200, 6)
labels = torch.sign(features[:, 0] + 0.3 * torch.randn(200))
net = Net()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(4):
    for i in range(0, 200, 20):
        loss = criterion(net(features[i : i + 20]), labels[i : i + 20])  # <- impossible-loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
