"""A cosine for fifty epochs, and training stops early after eleven of five batches."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(160, 6)
loader = DataLoader(TensorDataset(x, x[:, :1] * 2), batch_size=32, shuffle=True)
net = nn.Linear(6, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=50)
for epoch in range(50):
    for a, b in loader:
        loss = nn.functional.mse_loss(net(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scheduler.step()
    print(epoch, loss.item())
    if epoch == 10:
        break
