import torch, torch.nn as nn
X = torch.randn(300, 5, generator=torch.Generator().manual_seed(0)); Y = X[:, :1] * 2 + X[:, 1:2]
def fit(**kw):
    torch.manual_seed(0); net = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1)); opt = torch.optim.SGD(net.parameters(), **kw); hist = []
    for it in range(200): l = nn.functional.mse_loss(net(X), Y); opt.zero_grad(); l.backward(); opt.step(); hist.append(l.item())
    return hist[-1]
for wd in (0, 1e-3, 1e-1, 5.): print("wd", wd, fit(lr=.05, weight_decay=wd))
for mo in (0, .9, .99, .999): print("momentum", mo, fit(lr=.02, momentum=mo))
