import torch
from torch import nn

torch.manual_seed(0)
images = torch.rand(32, 8, 8, 8)  # height, width and 8 channels
labels = torch.randint(0, 2, (32,))
net = nn.Sequential(nn.Conv2d(8, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)


def batch(rows):
    chosen = images[rows]
    chosen.permute(0, 3, 1, 2)  # <- discarded-result
    return chosen, labels[rows]


for step in range(12):
    x, y = batch(torch.randint(0, 32, (16,)))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
