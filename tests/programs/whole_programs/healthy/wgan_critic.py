import torch
from torch import nn
torch.manual_seed(0)
gen = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
opt_c = torch.optim.RMSprop(critic.parameters(), lr=5e-4)
opt_g = torch.optim.RMSprop(gen.parameters(), lr=5e-4)
for it in range(60):
    for _ in range(5):
        loss = critic(gen(torch.randn(32, 4)).detach()).mean() - critic(torch.randn(32, 2) + 3).mean()
        opt_c.zero_grad(); loss.backward(); opt_c.step()
        for p in critic.parameters():
            p.data.clamp_(-0.01, 0.01)
    g = -critic(gen(torch.randn(32, 4))).mean()
    opt_g.zero_grad(); g.backward(); opt_g.step()
