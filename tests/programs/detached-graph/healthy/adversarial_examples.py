import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(30):
    x = torch.randn(32, 10)
    y = x[:, :3].argmax(dim=1)
    x.requires_grad_()
    slope = torch.autograd.grad(F.cross_entropy(model(x), y), x)[0]
    attacked = (x + 0.1 * slope.sign()).detach()
    clean = F.softmax(model(x.detach()), dim=1).detach()
    robust = F.kl_div(F.log_softmax(model(attacked), dim=1), clean, reduction="batchmean")
    loss = F.cross_entropy(model(attacked), y) + robust
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
