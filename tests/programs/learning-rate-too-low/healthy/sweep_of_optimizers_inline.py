import torch, torch.nn as nn
g = torch.Generator().manual_seed(0); X = torch.randn(500, 6, generator=g); Y = X[:, :3].argmax(1); best = (9e9, None)
for name, lr in [("Adam", 1e-6), ("Adam", 1e-3), ("Adam", .3), ("SGD", 1e-5), ("SGD", .1), ("SGD", 3.), ("RMSprop", .5), ("RMSprop", 1e-3)]:
    torch.manual_seed(0); net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3)); opt = getattr(torch.optim, name)(net.parameters(), lr=lr)
    for ep in range(8):
        for b in torch.randperm(500).split(50): l = nn.functional.cross_entropy(net(X[b]), Y[b]); opt.zero_grad(); l.backward(); opt.step()
    print(name, lr, l.item()); best = min(best, (l.item(), name + str(lr)))
print(best)
