import torch
from torch import nn
torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for step in range(40):
    real = torch.randn(32, 2) + 2
    fake = G(torch.randn(32, 4))
    loss_d = bce(D(real), torch.ones(32, 1)) + bce(D(fake.detach()), torch.zeros(32, 1))
    opt_d.zero_grad()
    loss_d.backward()  # <- missing-optimizer-step
    loss_g = bce(D(fake), torch.ones(32, 1))
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
