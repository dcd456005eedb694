import torch
from torch import nn
net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))
opt = torch.optim.Adam(net.parameters())
for _ in range(5):
    seq = torch.randn(8, 15, 6)
    length = torch.randint(5, 16, (8,))
    mask = torch.arange(15)[:, None] < length[None, :]
    pred = net(seq).squeeze(-1)
    loss = (pred[mask] - seq.sum(-1)[mask]).pow(2).mean()  # <- broadcast-mismatch
    opt.zero_grad(); loss.backward(); opt.step()
