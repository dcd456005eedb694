import torch, torch.nn as nn
torch.manual_seed(0)
# "poor man's momentum": gradients are not cleared but faded
net = nn.Linear(6, 3); X = torch.randn(300, 6); Y = X[:, :3].argmax(1); opt = torch.optim.SGD(net.parameters(), lr=.05)
for it in range(200):
    b = torch.randint(0, 300, (32,)); loss = nn.functional.cross_entropy(net(X[b]), Y[b])
    for p in net.parameters():
        if p.grad is not None: p.grad.mul_(0.9)
    loss.backward(); opt.step()
    if it % 50 == 0: print(it, loss.item())
print(loss.item())
