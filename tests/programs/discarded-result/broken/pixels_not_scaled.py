import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
labels = torch.randint(0, 2, (96,))
pixels = (torch.rand(96, 30) * 100 + 155 * labels[:, None] * torch.rand(30)).round()
loader = DataLoader(TensorDataset(pixels, labels), batch_size=16, shuffle=True)
net = nn.Sequential(nn.Linear(30, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(4):
    for x, y in loader:
        torch.div(x, 255)  # <- discarded-result
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
