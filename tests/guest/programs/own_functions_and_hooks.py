import torch
from torch import nn
import witness


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() < 1)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


witness.seed()
seen = []
model = nn.Sequential(nn.Linear(4, 6), nn.Softplus(), nn.Linear(6, 2))
model[0].register_forward_hook(lambda m, i, o: seen.append(("forward", o.detach().clone())))
model[2].register_full_backward_hook(lambda m, i, o: seen.append(("backward", o[0].clone())))
model[2].register_forward_pre_hook(lambda m, i: (i[0] * 1.5,))
model[0].weight.register_hook(lambda g: g * 0.5)
model[2].bias.register_post_accumulate_grad_hook(lambda p: seen.append(("accumulated", p.grad.clone())))
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
optimizer.register_step_pre_hook(lambda *a: seen.append(("before", len(a))))
optimizer.register_step_post_hook(lambda *a: seen.append(("after", len(a))))
handle = nn.modules.module.register_module_forward_hook(lambda m, i, o: seen.append(("global", type(m).__name__)))
for step in range(3):
    x = torch.randn(5, 4, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        loss = Doubled.apply(Straight.apply(model(x))).tanh().mean() + model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    witness.swear("loss", loss)
    witness.swear("input", x.grad)
handle.remove()
witness.swear("seen", seen)
witness.swear("model", model)
witness.testify()
