# one batch with a huge value drives a good run to NaN
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(640, 6)
y = x.sum(1, keepdim=True)
x[401] *= 1e18
loader = DataLoader(TensorDataset(x, y), batch_size=32)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(3):
    for xb, yb in loader:
        loss = nn.functional.mse_loss(model(xb), yb)  # <- loss-spike
        opt.zero_grad(); loss.backward(); opt.step()
    print(epoch, loss.item())
