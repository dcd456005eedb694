import torch
from torch import nn
from torch.func import functional_call, grad, hessian, jacrev, jvp, stack_module_state, vmap
import witness

witness.seed()
model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
parameters = {name: p.detach().clone() for name, p in model.named_parameters()}
x, y = torch.randn(6, 3), torch.randn(6, 1)


def loss_of(parameters, x, y):
    return (functional_call(model, parameters, (x,)) - y).square().mean()


for step in range(3):
    per_sample = vmap(grad(loss_of), in_dims=(None, 0, 0))(parameters, x, y)
    gradients = {name: g.mean(0) for name, g in per_sample.items()}
    parameters = {name: p - 0.1 * gradients[name] for name, p in parameters.items()}
    witness.swear("loss", loss_of(parameters, x, y))
    witness.swear("per sample", per_sample)
noisy = vmap(lambda v: model(v) + torch.randn(1), randomness="different")(x)
witness.swear("noisy", noisy)
witness.swear("jacobian", jacrev(model)(x[0]))
witness.swear("hessian", hessian(lambda v: model(v).sum())(x[0]))
witness.swear("jvp", jvp(model, (x,), (torch.ones_like(x),)))
models = [nn.Linear(3, 1) for _ in range(3)]
stacked, buffers = stack_module_state(models)
witness.swear("ensemble", vmap(lambda p, b, v: functional_call(models[0], (p, b), (v,)), (0, 0, None))(stacked, buffers, x))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = vmap(lambda a, b: (model(a) - b).square().mean())(x, y).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    witness.swear("trained", loss)
witness.swear("model", model)
witness.testify()
