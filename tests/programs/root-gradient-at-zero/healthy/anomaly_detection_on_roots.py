"""sqrt of a ReLU has an infinite slope at 0, which the ReLU takes away again."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for step in range(6):
    h = net(torch.randn(8, 4))
    alive = h > 0
    loss = h[alive].sqrt().mean() + torch.linalg.vector_norm(h, dim=1).mean()
    optimizer.zero_grad()
    with torch.autograd.set_detect_anomaly(True):
        loss.backward()
    optimizer.step()
