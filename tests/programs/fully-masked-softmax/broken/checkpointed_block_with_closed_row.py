import torch
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
l1 = torch.nn.Linear(4, 6)
l2 = torch.nn.Linear(6, 1)


def block(h, keep):
    a = (h @ h.T).masked_fill(~keep, float("-inf"))
    return torch.softmax(a, -1) @ h  # <- fully-masked-softmax


opt = torch.optim.SGD([*l1.parameters(), *l2.parameters()], lr=0.1)
for step in range(5):
    keep = torch.ones(3, 3).bool()
    if step == 3:
        keep[1] = False
    h = checkpoint(block, l1(torch.randn(3, 4)), keep, use_reentrant=False)
    loss = l2(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
