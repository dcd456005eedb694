import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(6)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
params = {k: v.detach() for k, v in model.named_parameters()}


def loss_fn(params, x, y):
    pred = functional_call(model, params, (x.unsqueeze(0),)).squeeze()
    error = pred - y
    if error.abs() < 1.0:  # <- unexplained-error
        return 0.5 * error ** 2
    return error.abs() - 0.5


def per_sample_gradients(x, y):
    return vmap(grad(loss_fn), in_dims=(None, 0, 0))(params, x, y)


def clip(grads, bound=1.0):
    norms = torch.sqrt(sum(g.flatten(1).pow(2).sum(1) for g in grads.values()))
    factor = (bound / (norms + 1e-6)).clamp(max=1.0)
    return {k: (g * factor.view(-1, *[1] * (g.dim() - 1))).mean(0) for k, g in grads.items()}


for step in range(20):
    x = torch.randn(32, 6)
    y = x[:, 0] * 3
    grads = clip(per_sample_gradients(x, y))
    params = {k: p - 0.1 * grads[k] for k, p in params.items()}
print("done")
