# The weights of all steps are added up, and divided by their number at the end.
import torch, torch.nn as nn, torch.nn.functional as F, copy

torch.manual_seed(0)
x = torch.randn(200, 5)
y = x[:, :1] * 2
net = nn.Linear(5, 1)
acc = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), 0.05)
for p in acc.parameters():
    p.data.zero_()
n = 0
for step in range(60):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for a, p in zip(acc.parameters(), net.parameters()):
            a.add_(p)
    n += 1
with torch.no_grad():
    for a in acc.parameters():
        a.div_(n)
    print(F.mse_loss(acc(x), y).item(), F.mse_loss(net(x), y).item())
