import torch
from torch import nn
torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
og = torch.optim.Adam(G.parameters(), lr=1e-3)
od = torch.optim.Adam(D.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for it in range(150):
    real = torch.randn(32, 2) * 0.3 + 2
    fake = G(torch.randn(32, 4)).detach()  # <- detached-graph
    ld = bce(D(real), torch.ones(32, 1)) + bce(D(fake), torch.zeros(32, 1))
    od.zero_grad(); ld.backward(); od.step()
    lg = bce(D(fake), torch.ones(32, 1))
    og.zero_grad(); lg.backward(); og.step()
print(ld.item(), lg.item())
