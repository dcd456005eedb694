# losses re-weighted by a softmax over the batch (hard examples count more)
import torch, torch.nn as nn
torch.manual_seed(0); g = torch.Generator().manual_seed(1)
X = torch.randn(512, 10, generator=g); y = (X[:, 0] + .5 * X[:, 1] ** 2 > .3).long()
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2)); opt = torch.optim.SGD(net.parameters(), lr=.2, momentum=.9)  # <- learning-rate-too-high
for it in range(120):
    b = torch.randint(0, 512, (64,), generator=g); per = nn.functional.cross_entropy(net(X[b]), y[b], reduction="none")
    w = torch.softmax(per.detach() / 0.5, dim=0); loss = (w * per).sum()
    opt.zero_grad(); loss.backward(); opt.step()
    if it % 60 == 0: print(it, loss.item(), per.mean().item())
print((net(X).argmax(1) == y).float().mean())
