"""Tensors that require a gradient and are meant to stay: an invariance penalty's scale, attributions, pruning."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import prune

torch.manual_seed(0)
dummy = torch.ones(1, requires_grad=True)


def penalty(logits, y):
    loss = F.binary_cross_entropy_with_logits(logits * dummy, y)
    (slope,) = torch.autograd.grad(loss, [dummy], create_graph=True)
    return loss, slope.square().sum()


net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(90):
    if step == 30:
        prune.l1_unstructured(net[0], "weight", amount=0.3)
    if step == 60:
        prune.remove(net[0], "weight")
    x = torch.randn(64, 6)
    loss, extra = penalty(net(x).squeeze(1), (x[:, 0] + x[:, 1] > 0).float())
    opt.zero_grad()
    (loss + 0.1 * extra).backward()
    opt.step()
    if step % 30 == 0:
        print(step, loss.item())
