import torch
import torch.nn.functional as F

torch.manual_seed(0)
m = torch.nn.Linear(4, 3)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
lo = torch.full((3,), float("inf"))
hi = torch.full((3,), -float("inf"))
for step in range(5):
    x = torch.randn(4, 4)
    z = m(x)
    lo = torch.minimum(lo, z.detach().amin(0))
    hi = torch.maximum(hi, z.detach().amax(0))
    y = torch.tensor([0, -100, 2, -100])
    loss = F.cross_entropy(z, y) + (z.clamp(min=-float("inf"), max=5)).pow(2).mean()
    topk = z.masked_fill(z < z.topk(2).values[:, -1:], -float("inf")).softmax(-1)
    loss = loss + (topk * z).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
