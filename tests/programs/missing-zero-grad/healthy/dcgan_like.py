import torch
from torch import nn
torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(32, 1))
optG = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
optD = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
fixed = torch.randn(16, 4)
bce = nn.BCEWithLogitsLoss()
samples = []
for epoch in range(3):
    for i in range(10):
        real = torch.randn(32, 2) + 2
        D.zero_grad()
        errD_real = bce(D(real).view(-1), torch.ones(32))
        errD_real.backward()
        fake = G(torch.randn(32, 4))
        errD_fake = bce(D(fake.detach()).view(-1), torch.zeros(32))
        errD_fake.backward()
        optD.step()
        G.zero_grad()
        errG = bce(D(fake).view(-1), torch.ones(32))
        errG.backward()
        optG.step()
    with torch.no_grad():
        samples.append(G(fixed).detach().cpu())
