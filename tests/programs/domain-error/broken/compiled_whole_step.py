import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-2)


@torch.compile(backend="aot_eager")
def train_step(x, y):
    opt.zero_grad()
    out = net(x)
    loss = (torch.sqrt(out - y.abs()) - 1).square().mean()  # <- domain-error
    loss.backward()
    opt.step()
    return loss


for step in range(60):
    x = torch.randn(32, 6)
    loss = train_step(x, x.sum(1, keepdim=True))
    if step % 10 == 0:
        print(step, float(loss))
