import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.abs()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x / x.abs()  # <- division-by-zero


m = nn.Sequential(nn.Linear(5, 16), nn.ReLU())
h = nn.Linear(16, 1)
o = torch.optim.SGD([*m.parameters(), *h.parameters()], 0.1)
for i in range(20):
    x = torch.randn(32, 5)
    l = F.mse_loss(h(Scale.apply(m(x) * (x[:, :1] > 0))), x[:, :1])
    o.zero_grad()
    l.backward()
    o.step()
    print(l.item())
