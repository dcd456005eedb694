import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(200, 8)
y = x[:, :3].argmax(dim=1)
x[:, 3] = 1.0
x = (x - x.mean(0)) / x.std(0)  # <- division-by-zero
train = x[:160]
loader = DataLoader(TensorDataset(train, y[:160]), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(3):
    for inputs, labels in loader:
        loss = nn.functional.cross_entropy(net(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
