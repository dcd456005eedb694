import torch, torch.nn as nn
X = torch.randn(256, 6, generator=torch.Generator().manual_seed(0)); Y = X.prod(1, keepdim=True).tanh() + X[:, :1]; results = {}
def run(lr, wd, steps=80):
    torch.manual_seed(0); net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1)); opt = torch.optim.SGD(net.parameters(), lr=lr, weight_decay=wd)
    for it in range(steps): l = nn.functional.mse_loss(net(X), Y); opt.zero_grad(); l.backward(); opt.step()
    return l.item()
for lr in (1e-6, 1e-4, 1e-2, 1e-1):
    for wd in (0, 1e-2, 1.): results[lr, wd] = run(lr, wd)
print(results, "best", min(results, key=results.get))
