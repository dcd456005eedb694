# NumPy adds the noise that is predicted; a little more noise perturbs the input.
import torch, torch.nn as nn, torch.nn.functional as F, numpy as np

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), 3e-3)
ab = np.cumprod(1 - np.linspace(1e-3, 0.1, 50))


def q_sample(x0, t, noise):
    a = ab[t][:, None]
    return np.sqrt(a) * x0 + np.sqrt(1 - a) * noise


for i in range(150):
    x = torch.randn(64, 2) * 0.2 + 1
    t = torch.randint(0, 50, (64,))
    n = torch.randn_like(x)
    xt = torch.from_numpy(q_sample(x.numpy(), t.numpy(), n.numpy())).float()
    xt = xt + 0.01 * torch.randn_like(xt)  # input perturbation
    loss = F.mse_loss(net(torch.cat([xt, t[:, None] / 50], 1)), n)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
