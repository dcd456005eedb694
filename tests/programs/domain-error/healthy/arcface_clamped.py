import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
centre = nn.Parameter(torch.randn(3, 4))
encoder = nn.Linear(4, 4, bias=False)
optimizer = torch.optim.SGD([centre, *encoder.parameters()], lr=0.01)
for step in range(8):
    x = torch.randn(6, 4)
    x[2] = 0
    z = encoder(x)
    cosine = F.normalize(z) @ F.normalize(centre).T
    angle = torch.acos(cosine.clamp(-1 + 1e-6, 1 - 1e-6))
    loss = F.cross_entropy(16 * torch.cos(angle + 0.2), torch.tensor([0, 1, 2, 0, 1, 2]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
