import torch, torch.nn as nn
X = torch.randn(400, 10, generator=torch.Generator().manual_seed(0)); Y = (X[:, 0] * X[:, 1] > 0).long()
def model(): torch.manual_seed(0); return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
CONFIGS = []
m = model(); CONFIGS.append(("sgd tiny", m, torch.optim.SGD(m.parameters(), lr=1e-7)))
m = model(); CONFIGS.append(("sgd", m, torch.optim.SGD(m.parameters(), lr=0.3)))
m = model(); CONFIGS.append(("adam", m, torch.optim.Adam(m.parameters(), lr=1e-2)))
m = model(); CONFIGS.append(("adam tiny", m, torch.optim.Adam(m.parameters(), lr=1e-8)))
for name, net, opt in CONFIGS:
    for ep in range(20):
        for b in torch.arange(400).split(50): l = nn.functional.cross_entropy(net(X[b]), Y[b]); opt.zero_grad(); l.backward(); opt.step()
    print(f"{name:10s} {l.item():.4f}")
