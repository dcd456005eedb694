import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def sample_loss(parameters, x, y):
    return (functional_call(net, parameters, (x[None],)).squeeze() - y).pow(2)


per_sample = vmap(grad(sample_loss), in_dims=(None, 0, 0))
for step in range(8):
    x, y = torch.randn(8, 4), torch.randn(8)
    gradients = per_sample(dict(net.named_parameters()), x, y)
    norm = torch.stack([g.flatten(1).norm(dim=1) for g in gradients.values()]).norm(dim=0)
    factor = (1.0 / (norm + 1e-6)).clamp(max=1.0)
    for name, parameter in net.named_parameters():
        g = gradients[name].detach()
        parameter.grad = torch.einsum("b,b...->...", factor.detach(), g) / len(x)
    optimizer.step()
