import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.rand(2000, 6)
X[1711] = 0.0
loader = DataLoader(TensorDataset(X, X.sum(1)), batch_size=8)
net = nn.Linear(6, 1)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for i, (a, b) in enumerate(loader):
    a = a / a.norm(dim=1, keepdim=True)  # <- division-by-zero
    loss = (net(a).squeeze(1) - b).pow(2).mean() / 4
    loss.backward()
    if (i + 1) % 4 == 0:
        opt.step()
        opt.zero_grad()
