import torch
from torch import nn
torch.manual_seed(0)
img = torch.randint(0, 256, (128, 64)).float(); y = (img[:, :32].mean(1) > img[:, 32:].mean(1)).long()
net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-4)
for e in range(200):
    loss = nn.functional.cross_entropy(net(img), y)
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
