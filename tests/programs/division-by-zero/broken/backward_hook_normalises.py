import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def rescale(module, grad_input, grad_output):
    g = grad_input[0]
    if g is None:
        return None
    return (g / g.abs().mean(1, keepdim=True),)  # <- division-by-zero


net[1].register_full_backward_hook(rescale)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(10):
    x = torch.randn(5, 4)
    out = net(x).squeeze(1)
    w = torch.ones(5)
    if step == 6:
        w[2] = 0
    loss = (w * (out - x.sum(1)).pow(2)).sum() / w.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
