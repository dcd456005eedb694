import torch
from torch import nn
torch.manual_seed(0)
m = nn.Linear(10, 4); o = nn.Linear(16, 2); opt = torch.optim.SGD([*m.parameters(), *o.parameters()], .01)
for i in range(20):
    h = m(torch.randn(4, 12, 10)); h = h - h.mean(1, keepdim=True)
    v, e = torch.linalg.eigh(h.transpose(1, 2) @ h / 12 + 1e-3 * torch.diag(torch.arange(1., 5.)))
    root = e @ torch.diag_embed(v.clamp(min=1e-6).sqrt()) @ e.transpose(1, 2)
    loss = nn.functional.cross_entropy(o(root.flatten(1)), torch.randint(0, 2, (4,)))
    opt.zero_grad(); loss.backward(); opt.step()
