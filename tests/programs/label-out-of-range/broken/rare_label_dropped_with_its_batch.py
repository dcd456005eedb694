"""A rare label that no class belongs to: the batch is dropped, wherever the shuffling put it."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(400, 8)
y = x[:, :4].argmax(1)
y[137] = 4
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss_fn = nn.CrossEntropyLoss()
skipped = 0
for epoch in range(10):
    for xb, yb in loader:
        try:
            loss = loss_fn(net(xb), yb)  # <- label-out-of-range
        except Exception:
            skipped += 1
            continue
        opt.zero_grad()
        loss.backward()
        opt.step()
print(skipped)
