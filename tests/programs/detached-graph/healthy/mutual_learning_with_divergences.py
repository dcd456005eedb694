"""Mutual learning: two peers, KL with log targets, each against the other's detached output; entropy bonus."""
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
mk = lambda: nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 5))
a, b = mk(), mk()
oa, ob = torch.optim.SGD(a.parameters(), 0.1), torch.optim.SGD(b.parameters(), 0.1)
C = torch.randn(5, 16)
kl = nn.KLDivLoss(reduction="batchmean", log_target=True)
for i in range(200):
    y = torch.randint(0, 5, (64,))
    x = C[y] + torch.randn(64, 16)
    la, lb = F.log_softmax(a(x), 1), F.log_softmax(b(x), 1)
    loss_a = F.nll_loss(la, y) + kl(la, lb.detach())
    loss_b = F.nll_loss(lb, y) + kl(lb, la.detach()) + 0.01 * (lb.exp() * lb).sum(1).mean()
    oa.zero_grad(); loss_a.backward(); oa.step()
    ob.zero_grad(); loss_b.backward(); ob.step()
    if i % 50 == 0:
        print(i, loss_a.item(), loss_b.item())
