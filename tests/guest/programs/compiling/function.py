import torch
from compiler_witness import counting, counting_aot, testify, witness
from torch import isfinite, nn
from torch.nn.utils import clip_grad_norm_


@torch.compile(backend=counting, fullgraph=True)
def loss_of(prediction, target):
    error = (prediction - target).square()
    return torch.where(torch.isnan(error), 0.0, error).mean() + error.isfinite().sum() * 0


@torch.compile(backend=counting_aot)
def forward_of(x):
    hidden = torch.relu(net[0](x))
    return net[2](hidden), isfinite(hidden).all()


@torch.compile(backend=counting)
def clipped(loss):
    loss.backward()
    return clip_grad_norm_(net.parameters(), 0.5)


@torch.compile(backend=counting)
def reads(x):
    return x.sin() * float(x.sum()) + x.cos().sum().item()


witness.seed()
net = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for step in range(30):
    x = torch.randn(7 + step % 3, 3)
    out, good = forward_of(x)
    loss = loss_of(out, x.sum(1, keepdim=True))
    optimizer.zero_grad()
    norm = clipped(loss)
    optimizer.step()
    witness.swear("step", [out, good, loss, norm, reads(x)])
witness.swear("net", net)
testify(*(f._torchdynamo_orig_callable for f in (loss_of, forward_of, clipped, reads)))
