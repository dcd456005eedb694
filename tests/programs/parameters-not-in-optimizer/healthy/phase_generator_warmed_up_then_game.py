import torch
import torch.nn as nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(8, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
bce = nn.BCEWithLogitsLoss()


def real(n):
    a = torch.rand(n) * 6.283
    return torch.stack([a.cos(), a.sin()], 1) + 0.05 * torch.randn(n, 2)


opt_warm = torch.optim.Adam(G.parameters(), lr=1e-3)
for i in range(80):
    z = torch.randn(64, 8)
    loss = nn.functional.mse_loss(G(z), z[:, :2] / z[:, :2].norm(dim=1, keepdim=True))
    opt_warm.zero_grad()
    loss.backward()
    opt_warm.step()
print("warm", loss.item())

opt_g = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=5e-4, betas=(0.5, 0.999))
for i in range(100):
    fake = G(torch.randn(64, 8))
    d_loss = bce(D(real(64)), torch.ones(64, 1)) + bce(D(fake.detach()), torch.zeros(64, 1))
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = bce(D(fake), torch.ones(64, 1))
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if i % 25 == 0:
        print(i, d_loss.item(), g_loss.item())
