"""Per-sample gradients with torch.func; the clip factor divides by the norm of a gradient that is 0."""
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
net = nn.Linear(4, 1, bias=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
BOUND = 1.0


def sample_loss(parameters, x, y):
    return (functional_call(net, parameters, (x[None],)) - y).pow(2).mean()


per_sample = vmap(grad(sample_loss), in_dims=(None, 0, 0))
for step in range(12):
    x, y = torch.randn(8, 4), torch.randn(8)
    if step == 9:
        x[3] = 0
    gradients = per_sample(dict(net.named_parameters()), x, y)
    for name, parameter in net.named_parameters():
        g = gradients[name].detach()
        norm = g.flatten(1).norm(dim=1)
        factor = (BOUND / norm).clamp(max=1e6) if step < 0 else BOUND / norm  # <- division-by-zero
        parameter.grad = (g * factor[:, None, None]).mean(0) + 0.01 * torch.randn_like(parameter)
    optimizer.step()
