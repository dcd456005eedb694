"""A forward hook that scales activations by their deviation over the batch; the last batch has equal rows."""
import torch
from torch import nn


def scale_output(module, inputs, output):
    return output / output.std(dim=0)  # <- division-by-zero


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
net[0].register_forward_hook(scale_output)
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
batches = [torch.randn(5, 4) for _ in range(9)]
batches.append(torch.ones(5, 4))
for x in batches:
    opt.zero_grad()
    out = net(x)
    loss = nn.functional.cross_entropy(out, torch.tensor([0, 1, 0, 1, 1]))
    loss.backward()
    opt.step()
