# gradient ascent: log-likelihood and expected reward are maximised, deep dream pushes an activation up
import torch, torch.nn as nn
torch.manual_seed(0)
theta = nn.Parameter(torch.zeros(5)); reward = torch.tensor([1., 2., 3., 4., 50.]); opt = torch.optim.SGD([theta], lr=.02, maximize=True)
for i in range(120):
    J = (theta.softmax(0) * reward).sum(); opt.zero_grad(); J.backward(); opt.step()
print("J", round(J.item(), 3))
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)); o = torch.optim.Adam(net.parameters(), 1e-2, maximize=True); X = torch.randn(200, 4); y = (X[:, 0] > 0).float()
for i in range(100):
    ll = -nn.functional.binary_cross_entropy_with_logits(net(X).squeeze(1), y, reduction="sum"); o.zero_grad(); ll.backward(); o.step()
print("ll", round(ll.item(), 3))
for p in net.parameters(): p.requires_grad_(False)
img = torch.zeros(1, 4, requires_grad=True)
for i in range(60):
    act = net(img).sum(); act.backward()
    with torch.no_grad(): img += .1 * img.grad / (img.grad.norm() + 1e-8)
    img.grad = None
print("dream", round(act.item(), 3))
