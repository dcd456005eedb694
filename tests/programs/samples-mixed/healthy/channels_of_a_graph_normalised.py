# A graph network on one graph: each channel is normalised over the nodes before the last layer.
import torch, torch.nn as nn, torch.nn.functional as F

torch.manual_seed(0)
n = 60
y = torch.randint(0, 3, (n,))
x = torch.randn(n, 8) + F.one_hot(y, 8).float() * 2
a = ((y[:, None] == y[None]) & (torch.rand(n, n) < 0.2)).float() + torch.eye(n)
a = a / a.sum(1, keepdim=True)
w1 = nn.Parameter(torch.randn(8, 16) * 0.3)
w2 = nn.Parameter(torch.randn(16, 3) * 0.3)
opt = torch.optim.Adam([w1, w2], 1e-2)
for i in range(100):
    h = F.relu(a @ x @ w1)
    h = F.normalize(h, dim=0) * 8
    logits = h @ w2
    loss = F.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
