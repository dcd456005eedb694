"""Deep ensemble by stack_module_state and vmap; the skeleton's own weights are never trained."""
import copy
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap


def make():
    return nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))


def main():
    torch.manual_seed(0)
    members = [make() for _ in range(5)]
    params, buffers = stack_module_state(members)
    base = copy.deepcopy(members[0]).to("meta")

    def call(p, b, x):
        return functional_call(base, (p, b), (x,))

    optimizer = torch.optim.Adam(params.values(), lr=1e-2)
    x = torch.rand(256, 3) * 2 - 1
    y = (x[:, :1] * 3).sin() + x[:, 1:2] * x[:, 2:]
    for step in range(150):
        index = torch.randint(0, 256, (5, 32))
        out = vmap(call)(params, buffers, x[index])
        loss = (out - y[index]).pow(2).mean((1, 2)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(step, loss.item() / 5)
    with torch.no_grad():
        out = vmap(call, in_dims=(0, 0, None))(params, buffers, x)
        print("disagreement", out.std(0).mean().item(), "error", (out.mean(0) - y).pow(2).mean().item())


if __name__ == "__main__":
    main()
