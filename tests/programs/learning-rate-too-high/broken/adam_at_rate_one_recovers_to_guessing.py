import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(640, 20); y = (x[:, :3]).argmax(1)
m = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
opt = torch.optim.Adam(m.parameters(), lr=1.0)  # <- learning-rate-too-high
for e in range(8):
    for a, b in DataLoader(TensorDataset(x, y), 64, shuffle=True):
        l = nn.functional.cross_entropy(m(a), b); opt.zero_grad(); l.backward(); opt.step()
    print(l.item())
