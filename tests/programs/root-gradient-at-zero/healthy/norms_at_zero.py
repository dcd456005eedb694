"""torch's own norms and similarities know what to do with a zero vector."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Linear(5, 3, bias=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(10):
    x = torch.randn(8, 5)
    x[step % 8] = 0
    z = net(x)
    unit = F.normalize(z, dim=1)
    similarity = F.cosine_similarity(z, z.roll(1, 0))
    distance = torch.cdist(z, z)
    loss = z.norm(dim=1).mean() + unit.sum() + similarity.mean() + distance.mean() + F.pairwise_distance(z, z).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
