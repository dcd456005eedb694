import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
from torch.func import functional_call, grad_and_value

m = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
params = {k: v.detach().clone() for k, v in m.named_parameters()}
dummy = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
sched = torch.optim.lr_scheduler.StepLR(dummy, 30, 0.5)


def loss_fn(p, x, y):
    return F.mse_loss(functional_call(m, p, (x,)), y)


step = grad_and_value(loss_fn)
for i in range(90):
    x = torch.randn(64, 3)
    y = x.sum(1, keepdim=True).sin()
    g, l = step(params, x, y)
    lr = dummy.param_groups[0]["lr"]
    params = {k: v - lr * g[k] for k, v in params.items()}
    dummy.step()
    sched.step()
    if i % 30 == 0:
        print(l.item())
